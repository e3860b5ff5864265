import { parseArgs } from 'node:util';

export const LETTERS = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l', 'm', 'n', 'o'] as const;
export type Letter = (typeof LETTERS)[number];

export const HELP = `Measures what the backbone costs. Takes about five minutes; needs nothing but Node.js.

Usage: npm run bench
       npm run bench -- --only a,b

  a  cost: capacity units, requests and round trips of an append and of a fetch
  b  contention: many writers on one partition
  c  CPU per record in the functions
  d  throughput over HTTP
  e  size and load time of the Lambda packages
  f  the sweep: what it costs at rest, and when there is something to purge
  g  appends with an Idempotency-Key, and their repeats
  h  memory of produce and fetch, beside the size of the request or answer
  i  the SDK's producer: batches beside single sends, and what it buffers
  j  consumer groups: what 1,000 members on 1,024 partitions cost
  k  push: what it costs, how soon it comes, whom it keeps waiting
  l  what it costs that something happens once: effects, and prepared appends
  m  the relay of an outbox, beside the SDK's producer; needs PostgreSQL, else it says so
  n  appends that may be held back: what quotas and bounds on lag cost
  o  parked keys: what they cost, whom they keep waiting

Tables go to stdout, progress to stderr, all figures to a JSON file in bench/results.
Exit code 1: a count that must hold does not. bench/README.md tells what each figure means.`;

export type Command = { readonly letters: readonly Letter[] } | { readonly help: true } | { readonly fault: string };

/** What the command line asks for. */
export function parseArguments(args: readonly string[]): Command {
  const options = { only: { type: 'string' }, help: { type: 'boolean', short: 'h' } } as const;
  try {
    const { values } = parseArgs({ args: [...args], options });
    if (values.help) return { help: true };
    const asked = values.only?.split(',') ?? LETTERS;
    const unknown = asked.find((letter) => !isLetter(letter));
    if (unknown !== undefined) return { fault: `There is no section '${unknown}'; there are ${LETTERS.join(', ')}.` };
    return { letters: asked.filter(isLetter) };
  } catch (error) {
    // Node's first sentence names the option.
    return { fault: `${(error as Error).message.split(/\. |\n/)[0]}. --help lists the options.` };
  }
}

function isLetter(text: string): text is Letter {
  return LETTERS.some((letter) => letter === text);
}

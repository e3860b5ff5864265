import { mkdir, writeFile } from 'node:fs/promises';
import { cpus, loadavg, platform, release } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { HELP, LETTERS, type Letter, parseArguments } from './arguments.ts';
import type { Progress, Section } from './section.ts';
import { renderSection } from './table.ts';

// Before anything of the functions or the SDK is loaded: no log lines and no advice between the tables.
process.env.POWERTOOLS_LOG_LEVEL = 'SILENT';
process.env.POWERTOOLS_METRICS_DISABLED = 'true';
process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED = 'true';
process.env.AWS_EC2_METADATA_DISABLED = 'true';

const SECTIONS: Readonly<Record<Letter, (progress: Progress) => Promise<Section>>> = {
  a: async (progress) => (await import('./cost.ts')).measureCost(progress),
  b: async (progress) => (await import('./contention.ts')).measureContention(progress),
  c: async (progress) => (await import('./handlers.ts')).measureHandlers(progress),
  d: async (progress) => (await import('./throughput.ts')).measureThroughput(progress),
  e: async (progress) => (await import('./packages.ts')).measurePackages(progress),
  f: async (progress) => (await import('./sweep.ts')).measureSweep(progress),
  g: async (progress) => (await import('./keyed.ts')).measureKeyed(progress),
  h: async (progress) => (await import('./memory.ts')).measureMemory(progress),
  i: async (progress) => (await import('./sdk-producer.ts')).measureSdkProducer(progress),
  j: async (progress) => (await import('./group-cost.ts')).measureGroups(progress),
  k: async (progress) => (await import('./push.ts')).measurePush(progress),
  l: async (progress) => (await import('./once.ts')).measureOnce(progress),
  m: async (progress) => (await import('./relay.ts')).measureRelay(progress),
  n: async (progress) => (await import('./quotas.ts')).measureQuotas(progress),
  o: async (progress) => (await import('./parking.ts')).measureParking(progress),
};

const RESULTS = fileURLToPath(new URL('results', import.meta.url));

async function run(letters: readonly Letter[]): Promise<void> {
  const startedAt = new Date();
  const sections: Partial<Record<Letter, Section>> = {};
  for (const letter of LETTERS.filter((candidate) => letters.includes(candidate))) {
    const section = await SECTIONS[letter]((step) => {
      const seconds = ((Date.now() - startedAt.getTime()) / 1_000).toFixed(1).padStart(6);
      process.stderr.write(`${seconds} s  ${letter}  ${step}\n`);
    });
    sections[letter] = section;
    console.log(`\n${renderSection(letter, section)}`);
  }
  const [load] = loadavg() as [number, number, number];
  if (load > 1.5 * cpus().length) {
    console.log(
      `\nThe machine was busy (load ${load.toFixed(1)}, ${cpus().length} cores): times and ratios are worse than they are.`,
    );
  }
  const file = await store(startedAt, load, sections);
  console.log(`\n${file}`);
  const broken = Object.values(sections).flatMap(({ laws }) => laws.filter((law) => law.broken.length > 0));
  for (const { law } of broken) console.error(`broken: ${law}`);
  if (broken.length > 0) process.exitCode = 1;
}

/** @returns the file's path, from here */
async function store(startedAt: Date, load: number, sections: Partial<Record<Letter, Section>>): Promise<string> {
  const machine = {
    node: process.version,
    platform: `${platform()} ${release()}`,
    cpus: cpus().map(({ model }) => model),
  };
  const file = join(RESULTS, `${startedAt.toISOString().replaceAll(':', '-')}.json`);
  await mkdir(RESULTS, { recursive: true });
  await writeFile(file, `${JSON.stringify({ startedAt, ...machine, load, sections }, null, 2)}\n`);
  return relative(process.cwd(), file);
}

const command = parseArguments(process.argv.slice(2));
if ('help' in command) console.log(HELP);
else if ('fault' in command) {
  process.stderr.write(`${command.fault}\n`);
  process.exitCode = 2;
} else await run(command.letters);

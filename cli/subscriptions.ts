import { type Command, InvalidArgumentError } from 'commander';
import type { SubscriptionDescription, SubscriptionSettings, SubscriptionTarget } from '../client/index.ts';
import { duration, type Place, partitions, place, wholeNumber } from './arguments.ts';
import type { Context, Runner } from './context.ts';
import { CommandFailure, EXIT } from './exit-codes.ts';
import { table, thousands } from './table.ts';

const EXAMPLES = `
Examples:
  $ vertebra subscriptions put invoices --topic orders --http https://example.com/orders
  $ vertebra subscriptions put invoices --filter '{"value":{"type":["OrderPlaced"]}}'
  $ vertebra subscriptions put local --topic orders --lambda file:./handler.mjs --from earliest
  $ vertebra subscriptions describe invoices
  $ vertebra subscriptions seek invoices --to 2026-01-31T12:00:00Z
  $ vertebra subscriptions resume invoices`;

/** `vertebra subscriptions …` */
export function subscriptionsCommand(program: Command, run: Runner): void {
  const subscriptions = program
    .command('subscriptions')
    .summary('make, list, describe, pause, resume, seek and delete subscriptions')
    .description('Has records pushed to a function, an endpoint, a queue or a bus.')
    .helpCommand(false)
    .addHelpText('after', EXAMPLES);
  addPut(subscriptions, run);
  addList(subscriptions, run);
  addDescribe(subscriptions, run);
  addStates(subscriptions, run);
  addSeek(subscriptions, run);
  addRotate(subscriptions, run);
  addDelete(subscriptions, run);
}

interface PutOptions {
  readonly topic?: readonly string[];
  readonly lambda?: string;
  readonly http?: string;
  readonly sqs?: string;
  readonly eventBridge?: string;
  readonly from?: Place;
  readonly filter?: object | typeof EVERY_RECORD;
  readonly maxRecords?: number;
  readonly maxAttempts?: number;
  readonly minBackoff?: number;
  readonly maxBackoff?: number;
  readonly timeout?: number;
  readonly onFailure?: 'deadLetter' | 'halt' | 'park';
}

function addPut(subscriptions: Command, run: Runner): void {
  const put = subscriptions
    .command('put')
    .argument('<name>')
    .description('Makes a subscription, or changes what is given. Shows the secret of a new HTTP target, once.')
    .option('--topic <names...>', 'topics whose records are pushed')
    .option('--lambda <arn>', 'a Lambda function, or file:./handler.mjs with "vertebra up"')
    .option('--http <url>', 'an endpoint')
    .option('--sqs <url>', 'a queue')
    .option('--event-bridge <name>', 'an event bus')
    .option(
      '--from <place>',
      'earliest, latest, a time, or how long ago, such as 15m (default latest)',
      place(Date.now),
    )
    .option('--filter <pattern>', "EventBridge's pattern over key, headers and value; none: every record", pattern)
    .option('--max-records <count>', 'records of one call at most', wholeNumber(1))
    .option('--max-attempts <count>', 'times that a record is tried', wholeNumber(1))
    .option('--min-backoff <time>', 'longest wait before the second try, doubled for each that follows', duration)
    .option('--max-backoff <time>', 'longest wait of all, and about how often a parked key is tried', duration)
    .option('--timeout <time>', 'how long a call may take, such as 20s', duration)
    .option('--on-failure <what>', 'what becomes of a record that keeps failing: deadLetter, halt, or park its key');
  run<PutOptions>(put, async ({ vertebra, json, print, tell }, options, name) => {
    const { topic, from, filter, maxRecords, timeout, onFailure } = options;
    if (typeof from === 'object' && 'offset' in from) {
      throw new CommandFailure(
        '--from must be earliest, latest or a time: each partition has offsets of its own',
        EXIT.usage,
      );
    }
    const target = targetOf(options);
    const made = await vertebra.admin().putSubscription(name!, {
      ...(topic && { topics: topic }),
      ...(target && { target }),
      ...(from !== undefined && { from }),
      ...(filter !== undefined && { filter: filter === EVERY_RECORD ? null : filter }),
      ...(maxRecords !== undefined && { batch: { maxRecords } }),
      ...retryOf(options),
      ...(timeout !== undefined && { timeoutMs: timeout }),
      ...(onFailure !== undefined && { onFailure }),
    });
    if (json) return print(JSON.stringify(made));
    tell(`${made.name} is ${made.state}.`);
    if ('http' in made.target && made.target.http.secret) await print(made.target.http.secret);
  });
}

function retryOf({ maxAttempts, minBackoff, maxBackoff }: PutOptions): Pick<SubscriptionSettings, 'retry'> {
  const retry = {
    ...(maxAttempts !== undefined && { maxAttempts }),
    ...(minBackoff !== undefined && { minBackoffMs: minBackoff }),
    ...(maxBackoff !== undefined && { maxBackoffMs: maxBackoff }),
  };
  return Object.keys(retry).length > 0 ? { retry } : {};
}

/** @throws {CommandFailure} when more than one is named */
function targetOf({ lambda, http, sqs, eventBridge }: PutOptions): SubscriptionTarget | undefined {
  const named: SubscriptionTarget[] = [
    ...(lambda === undefined ? [] : [{ lambda: { functionArn: lambda } }]),
    ...(http === undefined ? [] : [{ http: { url: http } }]),
    ...(sqs === undefined ? [] : [{ sqs: { queueUrl: sqs } }]),
    ...(eventBridge === undefined ? [] : [{ eventBridge: { eventBusName: eventBridge } }]),
  ];
  if (named.length > 1)
    throw new CommandFailure('--lambda, --http, --sqs and --event-bridge exclude each other', EXIT.usage);
  return named[0];
}

/** Instead of a pattern. As itself, for the parser of options takes null for an option without a value. */
const EVERY_RECORD = 'none';

function pattern(text: string): object | typeof EVERY_RECORD {
  if (text === EVERY_RECORD) return EVERY_RECORD;
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null) return value;
  } catch {
    // told below
  }
  throw new InvalidArgumentError('It must be a JSON object, or none.');
}

function addList(subscriptions: Command, run: Runner): void {
  const list = subscriptions.command('list').description('Lists all subscriptions.');
  run(list, async ({ vertebra, json, print }) => {
    const found = await vertebra.admin().listSubscriptions();
    if (json) return print(JSON.stringify(found));
    const lines = table(found, [
      { title: 'NAME', of: ({ name }) => name },
      { title: 'STATE', of: ({ state }) => state },
      { title: 'TOPICS', of: ({ topics }) => topics.join(', ') },
      { title: 'TARGET', of: ({ target }) => targetText(target) },
    ]);
    for (const line of found.length === 0 ? [] : lines) await print(line);
  });
}

function addDescribe(subscriptions: Command, run: Runner): void {
  const describe = subscriptions
    .command('describe')
    .argument('<name>')
    .description('Shows its state, its position and lag on each partition, and what went wrong last.');
  run(describe, async (context, _, name) => show(context, await context.vertebra.admin().describeSubscription(name!)));
}

async function show({ json, print }: Context, found: SubscriptionDescription): Promise<void> {
  if (json) return print(JSON.stringify(found));
  const { name, state, reason, lastError, target, lag } = found;
  await print(`${name}: ${state}${reason === undefined ? '' : ` (${reason})`}, to ${targetText(target)}`);
  if (lastError) await print(`Last error: ${lastError.name}: ${lastError.message}`);
  for (const { detail } of found.errors) await print(detail);
  const lines = table(found.partitions, [
    { title: 'TOPIC', of: ({ topic }) => topic },
    { title: 'PARTITION', of: ({ partition }) => partition },
    { title: 'COMMITTED', of: ({ committed }) => committed },
    { title: 'END', of: ({ highWatermark }) => highWatermark },
    { title: 'LAG', of: (partition) => partition.lag },
    { title: 'ATTEMPTS', of: ({ retrying }) => retrying?.attempts },
    { title: 'NEXT TRY', of: ({ retrying }) => retrying && new Date(retrying.retryAt).toISOString() },
    ...(found.partitions.some(({ parked }) => parked)
      ? [{ title: 'PARKED', of: ({ parked }: (typeof found.partitions)[number]) => parked }]
      : []),
  ]);
  for (const line of lines) await print(line);
  await print(`Lag in all: ${thousands(lag)}`);
}

function targetText(target: SubscriptionTarget): string {
  if ('lambda' in target) return target.lambda.functionArn;
  if ('http' in target) return target.http.url;
  return 'sqs' in target ? target.sqs.queueUrl : target.eventBridge.eventBusName;
}

function addStates(subscriptions: Command, run: Runner): void {
  const pause = subscriptions.command('pause').argument('<name>').description('Delivers nothing more.');
  run(pause, async ({ vertebra, json, print, tell }, _, name) => {
    const paused = await vertebra.admin().pauseSubscription(name!);
    if (json) return print(JSON.stringify(paused));
    tell(`${name} is ${paused.state}.`);
  });
  const resume = subscriptions
    .command('resume')
    .argument('<name>')
    .description('Delivers again. What had failed is tried at once.');
  run(resume, async ({ vertebra, json, print, tell }, _, name) => {
    const resumed = await vertebra.admin().resumeSubscription(name!);
    if (json) return print(JSON.stringify(resumed));
    tell(`${name} is ${resumed.state}.`);
  });
}

interface SeekOptions {
  readonly to: Place;
  readonly topic?: string;
  readonly partitions?: readonly number[];
}

function addSeek(subscriptions: Command, run: Runner): void {
  const seek = subscriptions
    .command('seek')
    .argument('<name>')
    .description('Sets where a subscription goes on.')
    .requiredOption(
      '--to <place>',
      'earliest, latest, an offset, a time, or how long ago, such as 15m',
      place(Date.now),
    )
    .option('--topic <name>', 'this one alone (default all)')
    .option('--partitions <numbers>', 'these alone, such as 0,2,5 (default all)', partitions);
  run<SeekOptions>(seek, async ({ vertebra, json, print }, options, name) => {
    const moved = await vertebra.admin().seekSubscription({ name: name!, ...options });
    if (json) return print(JSON.stringify(moved));
    for (const { topic, partition, offset } of moved) await print(`${topic}-${partition} goes on at ${offset}`);
  });
}

function addRotate(subscriptions: Command, run: Runner): void {
  const rotate = subscriptions
    .command('rotate-secret')
    .argument('<name>')
    .description('Makes a new secret and writes it. The one before it signs as well for a day.');
  run(rotate, async ({ vertebra, json, print }, _, name) => {
    const secret = await vertebra.admin().rotateSecret(name!);
    await print(json ? JSON.stringify({ secret }) : secret);
  });
}

function addDelete(subscriptions: Command, run: Runner): void {
  const remove = subscriptions.command('delete').argument('<name...>').description('Deletes subscriptions.');
  run(remove, async ({ vertebra, json, tell }, _, ...given) => {
    for (const name of given.flat()) {
      await vertebra.admin().deleteSubscriptions([name]);
      if (!json) tell(`Deleted ${name}.`);
    }
  });
}

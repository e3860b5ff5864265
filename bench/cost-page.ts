import { ACTS, type Act, type Usage } from './acts.ts';
import {
  ASSUMED,
  atRest,
  HOURS_PER_MONTH,
  MEMORY_GB,
  MINUTES_PER_MONTH,
  POLLS_PER_MINUTE,
  partsOf,
  pushed,
  together,
} from './cost-model.ts';
import { recordsPerMonth, rivals, type Workload } from './cost-rivals.ts';
import { afterFree, dollarsOf, PAGES, type Part, PRICES, type Price, totalOf } from './prices.ts';

type Counted = Record<Act, Usage>;

const SECONDS_PER_MONTH = HOURS_PER_MONTH * 3_600;
const SUBSCRIBERS = 3;
const RATES: readonly (Workload & { readonly name: string; readonly size: 'One' | 'Hundred' })[] = [
  { name: 'one a minute', recordsPerS: 1 / 60, subscribers: SUBSCRIBERS, size: 'One' },
  { name: 'one a second', recordsPerS: 1, subscribers: SUBSCRIBERS, size: 'One' },
  { name: '100 a second, in batches of 100', recordsPerS: 100, subscribers: SUBSCRIBERS, size: 'Hundred' },
  { name: '1,000 a second, in batches of 100', recordsPerS: 1_000, subscribers: SUBSCRIBERS, size: 'Hundred' },
];

/** docs/cost.md, as it follows from what was counted, from what is assumed, and from the prices. */
export function costPage(counted: Counted): string {
  return [
    '# What it costs',
    '<!-- Written by `npm run cost`: change bench/, not this page. -->',
    `List prices of us-east-1, a month of ${HOURS_PER_MONTH} hours, no taxes, no data that leaves AWS. What one act consumes is **counted**: the functions
run as they are, over an engine that reports capacity as DynamoDB does. How long a function takes, and how much it logs, is **assumed**, and stands below. Both, and
[the prices](#prices), are in this page; \`npm run cost\` computes it anew, and a test holds it against them. The bill of your account is what counts.`,
    restSection(counted),
    consumerSection(counted),
    pushSection(counted),
    useSection(counted),
    notSection(counted),
    countedSection(counted),
    pricesSection(),
  ].join('\n\n');
}

function restSection(counted: Counted): string {
  const parts = atRest(counted);
  const left = afterFree(parts);
  const polls = pollsPart();
  const both = afterFree([...parts, polls]);
  return section('At rest', [
    'A deployed backbone that nobody calls and nobody subscribes to. All that runs is the sweep, once a minute; every fifth one looks whether anybody subscribes. _Free_: in an account whose always-free allowances are used by nothing else.',
    table(
      ['per month', 'how much', 'at list', 'with what is free'],
      [
        ...parts.map((part, i) => [part.what, amount(part), dollars(dollarsOf(part)), dollars(dollarsOf(left[i]!))]),
        ['API, queues, stream, schedule, roles, empty tables', '0', '$0', '$0'],
        ['**in all**', '', `**${dollars(totalOf(parts))}**`, `**${dollars(totalOf(left))}**`],
      ],
    ),
    `**The first subscription** switches on what wakes deliveries: Lambda then asks the wake queue ${POLLS_PER_MINUTE} times a minute, ${dollars(dollarsOf(polls))} a month at list, and ${dollars(dollarsOf(both.at(-1)!))} with what is free, however many
subscriptions there are. The last DELETE switches it off.`,
    'Stored records: $0.25 per GB and month in the tables, of which an account has 25 GB free, and $0.20 for point-in-time recovery; $0.023 in the bucket, where batches above 32 KB go. Alarms, the dashboard and traces are off unless asked for: [operations.md](operations.md) tells their prices.',
  ]);
}

function pollsPart(): Part {
  return { what: 'the wake queue is asked', price: 'queueRequest', count: POLLS_PER_MINUTE * MINUTES_PER_MONTH };
}

function consumerSection(counted: Counted): string {
  const every = (act: Act, seconds: number) => together(partsOf(act, SECONDS_PER_MONTH / seconds, counted[act]));
  const row = (what: string, parts: readonly Part[], latency: string) => [
    what,
    dollars(totalOf(parts)),
    dollars(partOf(parts, 'lambdaTime')),
    dollars(totalOf(parts) - partOf(parts, 'lambdaTime')),
    latency,
  ];
  return section('A consumer for which there is nothing', [
    'For a month, of one partition. What it costs to find out that there is nothing is what decides between the three ways to consume.',
    table(
      ['it', 'per month', 'time of functions', 'all else', 'a record waits for'],
      [
        row('waits: `waitMs` 20 s, over and over', every('fetchWaiting', 20), '0.5 s at most'),
        row('polls every second', every('fetchNothing', 1), '1 s at most'),
        row('polls every 10 s', every('fetchNothing', 10), '10 s at most'),
        row('polls every minute', every('fetchNothing', 60), 'a minute at most'),
        row('polls every 10 s, as a member with 8 partitions', every('pollNothing', 10), '10 s at most'),
        ['is pushed to', '$0', '$0', '$0', 'well below a second'],
      ],
    ),
    `A waiting read holds a function of ${MEMORY_GB.waitedFor} GB for as long as it waits: it is the dearest way, and meant for consumers that hardly ever wait. One that catches up and ends costs only what it reads. The wake queue is asked for all subscriptions together, see above.`,
  ]);
}

function pushSection(counted: Counted): string {
  const one = pushed(counted, { size: 'One', appends: 1_000_000, subscriptions: 1 });
  const hundred = pushed(counted, { size: 'Hundred', appends: 10_000, subscriptions: 1 });
  const perMinute = pushed(counted, { size: 'One', appends: MINUTES_PER_MONTH, subscriptions: 1 });
  const waiting = totalOf(partsOf('fetchWaiting', SECONDS_PER_MONTH / 20, counted.fetchWaiting));
  const polls = dollarsOf(pollsPart());
  const breakEven = ((waiting - polls) / totalOf(one)) * 1_000_000;
  return section('Push', [
    'From the append by HTTP to the commit after the target has answered, for one subscription: a million records of 1 KB, each by itself (sparse), and in batches of 100.',
    table(
      ['a million records', 'sparse', 'in batches of 100'],
      [
        ...one.map((part) => [part.what, dollars(dollarsOf(part)), dollars(partOf(hundred, part.price))]),
        ['**in all**', `**${dollars(totalOf(one))}**`, `**${dollars(totalOf(hundred))}**`],
      ],
    ),
    `**Sparse push**: a record a minute is ${dollars(totalOf(perMinute))} a month, and ${dollars(polls)} for the wake queue that all subscriptions share. A consumer that waits instead costs ${dollars(waiting)} before it
has read anything: push is cheaper up to ${millions(breakEven)} records a month that come one by one.`,
    'Each append is told twice, by the function that made it and by the stream, so that no wake-up is missed; the second one is dropped after a look. Wake-ups name their subscription (fair queues), which AWS charges for.',
  ]);
}

function useSection(counted: Counted): string {
  const perMillion = (act: Act, records: number) => dollars(totalOf(partsOf(act, 1_000_000 / records, counted[act])));
  return section('In use', [
    'A million records of 1 KB, whatever the number of groups that read them:',
    table(
      ['a million records', 'one by one', 'in batches of 100'],
      [
        ['appended', perMillion('appendOne', 1), perMillion('appendHundred', 100)],
        ['read, by each reader', '–', perMillion('fetchHundred', 100)],
      ],
    ),
    'Batches are what saves: a request is paid once, and a batch is compressed before it is stored. The SDK makes them by itself. What expires costs nothing; deleting a topic costs a write unit for each KB that it holds.',
  ]);
}

function notSection(counted: Counted): string {
  const rows = RATES.map((rate) => {
    const appends = recordsPerMonth(rate) / (rate.size === 'One' ? 1 : 100);
    const parts = [
      ...pushed(counted, { size: rate.size, appends, subscriptions: SUBSCRIBERS }),
      ...atRest(counted),
      pollsPart(),
    ];
    const { kinesis, snsAndSqs, eventBridge, mskServerless } = rivals(rate);
    return [rate.name, ...[totalOf(parts), kinesis, snsAndSqs, eventBridge, mskServerless].map(dollars)];
  });
  return section('When not to use it', [
    `Records of 1 KB, pushed to ${SUBSCRIBERS} subscribers, dollars a month at list. Of Vertebra everything is counted, its functions too; of the others only what they charge themselves, not the functions that take the records
(with Kinesis: shards and puts; SNS and SQS: ten messages a call; MSK Serverless: 8 partitions, storage left out).`,
    table(['records', 'Vertebra', 'Kinesis', 'SNS + SQS', 'EventBridge', 'MSK Serverless'], rows),
    [
      `- **A steady stream: Kinesis or MSK.** Theirs is a price by the hour, ours by the request. Around the clock, in batches of 100 and with ${SUBSCRIBERS} subscribers, a shard is cheaper from ${Math.round(shardBreakEven(counted))} records a second on. All readers of one partition share 3,000 read units a second here; a shard has its own limits, brokers hardly any.`,
      '- **Work to be shared, with no order and no second reader: SQS.** A queue is cheaper per message, scales without partitions, and has delays and visibility by message. Queues behind SNS are cheaper as well for records that come one by one, as long as nobody has to read anything again; each costs a copy of every message.',
      '- **Events of AWS or of partners to be routed by content: EventBridge.** It is a router, not a log, and cheaper for events that come one by one: it has no positions and no order; an archive can be replayed, but not read.',
      '- **Kafka clients or its ecosystem (Connect, Streams, transactions) are what you need: MSK.** Vertebra has its words, not its protocol.',
      '- **Latency below some 20 ms** from producer to consumer: none that goes through Lambda and DynamoDB has it.',
      '- **It pays** where traffic comes and goes, where many read the same records, where records are to be read again, and where there are many small topics: a topic, a group and an idle subscription cost nothing.',
    ].join('\n'),
  ]);
}

/** Records a second, all month, from which on one shard costs less. */
function shardBreakEven(counted: Counted): number {
  const perRecord = totalOf(pushed(counted, { size: 'Hundred', appends: 1, subscriptions: SUBSCRIBERS })) / 100;
  const shard = dollarsOf({ price: 'shardHour', count: HOURS_PER_MONTH });
  return shard / (perRecord - dollarsOf({ price: 'payloadUnit', count: 1 })) / SECONDS_PER_MONTH;
}

function countedSection(counted: Counted): string {
  const rows = (Object.keys(ACTS) as Act[]).map((act) => {
    const { readUnits, writeUnits, messages } = counted[act];
    return [ACTS[act], String(readUnits), String(writeUnits), String(messages), grouped(ASSUMED.takesMs[act])];
  });
  return section('What is counted, and what is assumed', [
    table(['act', 'read units', 'write units', 'wake-ups sent', 'assumed: ms'], rows),
    `Once a container remembers what it can. Deliveries are assumed to wait 50 ms for their target. Functions that somebody waits for, deliveries among them, have ${MEMORY_GB.waitedFor} GB, the others ${MEMORY_GB.background} GB. Logs are assumed at ${ASSUMED.callLogBytes} bytes a call (Lambda's own lines) and ${ASSUMED.requestLogBytes} more a request
(the gateway's line, and the function's with its metrics). Not in here: the functions' own metrics, about ten at $0.30 a month while they are written; cold starts; and, where anybody subscribes, a write unit for each partition, container and hour in which it grows, with the sweep's looks at it.`,
  ]);
}

function pricesSection(): string {
  const rows = Object.values<Price>(PRICES).map(({ what, dollars: each, per, unit, free, source, seen }) => [
    what,
    `$${each} per ${per === 1 ? unit : `${grouped(per)} ${unit}s`}`,
    free === undefined ? '–' : grouped(free),
    `[${source.slice(1)}](${PAGES}${source}/)`,
    seen ?? 'not confirmed',
  ]);
  return section('Prices', [
    '_Seen_: the date of what was read last, AWS’s page or somebody who quotes it; _undated_ when it tells none; _not confirmed_: look before you rely on it.',
    table(['what', 'price', 'always free, a month', 'source', 'seen'], rows),
  ]);
}

function section(title: string, blocks: readonly string[]): string {
  return [`## ${title}`, ...blocks].join('\n\n');
}

/** Columns padded as the formatter pads them. */
function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = heads.map((head, i) =>
    Math.max(3, ...[head, ...rows.map((row) => row[i]!)].map((cell) => cell.length)),
  );
  const line = (cells: readonly string[]) => `| ${cells.map((cell, i) => cell.padEnd(widths[i]!)).join(' | ')} |`;
  return [line(heads), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n');
}

function partOf(parts: readonly Part[], price: Part['price']): number {
  return totalOf(parts.filter((part) => part.price === price));
}

function amount({ price, count }: Part): string {
  const { unit } = PRICES[price];
  const much = count >= 100 ? grouped(Math.round(count)) : String(Number(count.toPrecision(2)));
  return `${much} ${unit === 'GB' ? unit : `${unit}s`}`;
}

/** Cents where there are dollars, else two digits that say something. */
function dollars(amount: number): string {
  if (amount === 0) return '$0';
  if (amount >= 100) return `$${grouped(Math.round(amount))}`;
  return amount >= 0.0995
    ? `$${amount.toFixed(2)}`
    : `$${amount.toFixed(Math.min(6, 1 - Math.floor(Math.log10(amount))))}`;
}

function millions(count: number): string {
  return `${(count / 1_000_000).toFixed(1)} million`;
}

function grouped(whole: number): string {
  return String(whole).replace(/\B(?=(\d{3})+$)/g, ',');
}

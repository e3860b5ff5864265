/** One price of AWS in us-east-1, at list, and what an account has for nothing every month, for ever. */
export interface Price {
  readonly what: string;
  /** Dollars for `per` of it. */
  readonly dollars: number;
  readonly per: number;
  /** Of one. */
  readonly unit: string;
  /** Of the unit, per month and account. Absent: nothing. Offers for an account's first months do not count. */
  readonly free?: number;
  /** AWS's page of it, behind `PAGES`. */
  readonly source: string;
  /**
   * The date of what was read last, that page or somebody who quotes it: year, and month; `undated` when it tells none.
   * Absent: not confirmed, look before you rely on it.
   */
  readonly seen?: string;
}

/** Where AWS tells its prices. */
export const PAGES = 'https://aws.amazon.com';

const MILLION = 1_000_000;

/** Every price that docs/cost.md uses. Where AWS has tiers, it is the first. */
export const PRICES = {
  lambdaRequest: {
    ...{ what: 'Lambda, call', dollars: 0.2, per: MILLION, unit: 'call', free: MILLION },
    ...{ source: '/lambda/pricing', seen: '2024' },
  },
  lambdaTime: {
    ...{ what: 'Lambda on Arm, time', dollars: 0.0000133334, per: 1, unit: 'GB-second', free: 400_000 },
    ...{ source: '/lambda/pricing', seen: '2024' },
  },
  apiRequest: {
    ...{ what: 'HTTP API, request (each 512 KB of it)', dollars: 1, per: MILLION, unit: 'request' },
    ...{ source: '/api-gateway/pricing', seen: '2025-05' },
  },
  writeUnit: {
    ...{ what: 'DynamoDB on demand, write', dollars: 0.625, per: MILLION, unit: 'write unit' },
    ...{ source: '/dynamodb/pricing/on-demand', seen: '2025-07' },
  },
  readUnit: {
    ...{ what: 'DynamoDB on demand, read', dollars: 0.125, per: MILLION, unit: 'read unit' },
    ...{ source: '/dynamodb/pricing/on-demand', seen: '2025-07' },
  },
  tableStorage: {
    ...{ what: 'DynamoDB, storage', dollars: 0.25, per: 1, unit: 'GB-month', free: 25 },
    ...{ source: '/dynamodb/pricing/on-demand', seen: 'undated' },
  },
  tableRecovery: {
    ...{ what: 'DynamoDB, point-in-time recovery', dollars: 0.2, per: 1, unit: 'GB-month' },
    ...{ source: '/dynamodb/pricing/on-demand' },
  },
  queueRequest: {
    ...{ what: 'SQS, request (each 64 KB of it)', dollars: 0.4, per: MILLION, unit: 'request', free: MILLION },
    ...{ source: '/sqs/pricing', seen: '2026-06' },
  },
  fairRequest: {
    ...{ what: 'SQS, more for a message with a group', dollars: 0.1, per: MILLION, unit: 'request' },
    ...{ source: '/sqs/pricing', seen: '2026-03' },
  },
  objectPut: {
    ...{ what: 'S3, PUT', dollars: 0.005, per: 1_000, unit: 'request' },
    ...{ source: '/s3/pricing', seen: 'undated' },
  },
  objectStorage: {
    ...{ what: 'S3, storage', dollars: 0.023, per: 1, unit: 'GB-month' },
    ...{ source: '/s3/pricing', seen: 'undated' },
  },
  logIngestion: {
    ...{ what: 'CloudWatch, logs written', dollars: 0.5, per: 1, unit: 'GB', free: 5 },
    ...{ source: '/cloudwatch/pricing', seen: '2026-06' },
  },
  logStorage: {
    ...{ what: 'CloudWatch, logs kept', dollars: 0.03, per: 1, unit: 'GB-month', free: 5 },
    ...{ source: '/cloudwatch/pricing' },
  },
  metric: {
    ...{ what: 'CloudWatch, metric', dollars: 0.3, per: 1, unit: 'metric-month', free: 10 },
    ...{ source: '/cloudwatch/pricing', seen: '2026-02' },
  },
  alarm: {
    ...{ what: 'CloudWatch, metric of an alarm', dollars: 0.1, per: 1, unit: 'metric-month', free: 10 },
    ...{ source: '/cloudwatch/pricing' },
  },
  dashboard: {
    ...{ what: 'CloudWatch, dashboard', dollars: 3, per: 1, unit: 'month', free: 3 },
    ...{ source: '/cloudwatch/pricing', seen: '2026-06' },
  },
  trace: {
    ...{ what: 'X-Ray, trace', dollars: 5, per: MILLION, unit: 'trace', free: 100_000 },
    ...{ source: '/xray/pricing' },
  },
  shardHour: {
    ...{ what: 'Kinesis, shard (1 MB/s or 1,000 records/s in)', dollars: 0.015, per: 1, unit: 'hour' },
    ...{ source: '/kinesis/data-streams/pricing', seen: 'undated' },
  },
  payloadUnit: {
    ...{ what: 'Kinesis, 25 KB put', dollars: 0.014, per: MILLION, unit: 'unit' },
    ...{ source: '/kinesis/data-streams/pricing', seen: 'undated' },
  },
  notification: {
    ...{ what: 'SNS, publish', dollars: 0.5, per: MILLION, unit: 'request', free: MILLION },
    ...{ source: '/sns/pricing', seen: '2026-06' },
  },
  busEvent: {
    ...{ what: 'EventBridge, custom event (each 64 KB of it)', dollars: 1, per: MILLION, unit: 'event' },
    ...{ source: '/eventbridge/pricing', seen: '2026-06' },
  },
  kafkaClusterHour: {
    ...{ what: 'MSK Serverless, cluster', dollars: 0.75, per: 1, unit: 'hour' },
    ...{ source: '/msk/pricing' },
  },
  kafkaPartitionHour: {
    ...{ what: 'MSK Serverless, partition', dollars: 0.0015, per: 1, unit: 'hour' },
    ...{ source: '/msk/pricing' },
  },
  kafkaIn: {
    ...{ what: 'MSK Serverless, written', dollars: 0.1, per: 1, unit: 'GB' },
    ...{ source: '/msk/pricing' },
  },
  kafkaOut: {
    ...{ what: 'MSK Serverless, read', dollars: 0.05, per: 1, unit: 'GB' },
    ...{ source: '/msk/pricing' },
  },
} as const satisfies Record<string, Price>;

export type Priced = keyof typeof PRICES;

/** Some of what is priced, and what it is for. */
export interface Part {
  readonly what: string;
  readonly price: Priced;
  readonly count: number;
}

/** Dollars, at list. */
export function dollarsOf({ price, count }: Pick<Part, 'price' | 'count'>): number {
  return (PRICES[price].dollars * count) / PRICES[price].per;
}

export function totalOf(parts: readonly Part[]): number {
  return parts.reduce((total, part) => total + dollarsOf(part), 0);
}

/** What is left to be paid in an account that uses its always-free allowances for nothing else. */
export function afterFree(parts: readonly Part[]): readonly Part[] {
  const left = new Map<Priced, number>();
  return parts.map((part) => {
    const { free = 0 }: Price = PRICES[part.price];
    const available = left.get(part.price) ?? free;
    const taken = Math.min(available, part.count);
    left.set(part.price, available - taken);
    return { ...part, count: part.count - taken };
  });
}

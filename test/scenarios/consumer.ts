import { ApiError, Vertebra } from '../../client/index.ts';

/** What the Kafka event source hands over, as far as it is looked at here. */
interface KafkaEvent {
  readonly records: Readonly<Record<string, readonly { readonly offset: number; readonly value: string | null }[]>>;
  readonly vertebra: { readonly group: string };
}

/** Where `VERTEBRA_ENDPOINT` says. */
const backbone = new Vertebra();
const producer = backbone.producer({ lingerMs: 0 });

/**
 * A subscriber of scenarios: appends what it gets to the topic `<group>-received`, as `{from, value}` with `from` such as
 * `orders-3:41`. A value `{"refuse": true}` it cannot handle, and no `{"refuse": "unless-mended"}` before there is a topic
 * `<group>-mended`.
 */
export async function handler({ records, vertebra: { group } }: KafkaEvent): Promise<void> {
  for (const [partition, batch] of Object.entries(records)) {
    for (const { offset, value } of batch) {
      const from = `${partition}:${offset}`;
      const decoded: unknown = value === null ? null : JSON.parse(Buffer.from(value, 'base64').toString());
      if (await isRefused(decoded, group)) throw new Error(`${from} cannot be handled`);
      await producer.send({ topic: `${group}-received`, messages: [{ value: { from, value: decoded } }] });
    }
  }
}

async function isRefused(value: unknown, group: string): Promise<boolean> {
  const { refuse } = (typeof value === 'object' ? (value ?? {}) : {}) as { readonly refuse?: unknown };
  return refuse === 'unless-mended' ? !(await exists(`${group}-mended`)) : refuse === true;
}

async function exists(topic: string): Promise<boolean> {
  try {
    await backbone.admin().describeTopic(topic);
    return true;
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return false;
    throw error;
  }
}

/** Asks the API for its topics. @returns what it answered to a caller who may not */
export async function stranger(): Promise<{ readonly status: number | undefined; readonly message: string }> {
  try {
    const topics = await backbone.admin().listTopics();
    return { status: 200, message: topics.join() };
  } catch (error) {
    return { status: error instanceof ApiError ? error.status : undefined, message: String(error) };
  }
}

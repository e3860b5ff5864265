import { Vertebra } from '../../client/index.ts';

/** What the Kafka event source hands over, as far as it is looked at here. */
interface KafkaEvent {
  readonly records: Readonly<Record<string, readonly { readonly offset: number; readonly value: string | null }[]>>;
  readonly vertebra: { readonly group: string };
}

interface Wish {
  /** True: it cannot be handled. A number: not before then, epoch ms. */
  readonly refuse?: boolean | number;
}

/** Where `VERTEBRA_ENDPOINT` says. */
const producer = new Vertebra().producer({ lingerMs: 0 });

/**
 * A subscriber of scenarios: appends what it gets to the topic `<group>-received`, as `{from, value}` with `from` such as
 * `orders-3:41`, unless the value says that it cannot be handled.
 */
export async function handler({ records, vertebra }: KafkaEvent): Promise<void> {
  for (const [partition, batch] of Object.entries(records)) {
    for (const { offset, value } of batch) {
      const decoded: unknown = value === null ? null : JSON.parse(Buffer.from(value, 'base64').toString());
      if (isRefused(decoded)) throw new Error(`${partition}:${offset} cannot be handled`);
      const received = { from: `${partition}:${offset}`, value: decoded };
      await producer.send({ topic: `${vertebra.group}-received`, messages: [{ value: received }] });
    }
  }
}

function isRefused(value: unknown): boolean {
  const { refuse } = (typeof value === 'object' ? (value ?? {}) : {}) as Wish;
  return typeof refuse === 'number' ? Date.now() < refuse : refuse === true;
}

import type { GroupDescription, TopicDescription } from './admin-words.ts';
import type { Connection } from './connection.ts';
import type { HeldPartition } from './consumer-partition.ts';
import type { DeliveryIds, RecordDelivery } from './effects/delivery.ts';
import type { FetchedRecord } from './messages.ts';
import { pathOf } from './transport.ts';

/** Tells by what right a consumer has its records. What polls do not say of group and topics is asked once. */
export class Deliveries {
  readonly #connection: Connection;
  readonly #group: string;
  #groupId: Promise<string> | undefined;
  readonly #topics = new Map<string, Promise<TopicDescription>>();

  constructor(connection: Connection, group: string) {
    this.#connection = connection;
    this.#group = group;
  }

  of({ topic, partition, epoch }: HeldPartition, record: FetchedRecord): RecordDelivery {
    const { offset } = record;
    return {
      ...{ group: this.#group, topic, partition, offset, epoch, isRedriven: record.redriven !== undefined },
      identify: (anew = false) => this.#identify(topic, anew),
    };
  }

  /** Throws as `Admin` does. */
  async #identify(topic: string, anew: boolean): Promise<DeliveryIds> {
    if (anew) {
      this.#groupId = undefined;
      this.#topics.delete(topic);
    }
    this.#groupId ??= this.#get<GroupDescription>('groups', this.#group).then(({ id }) => id ?? '');
    const asked = this.#topics.get(topic) ?? this.#get<TopicDescription>('topics', topic);
    this.#topics.set(topic, asked);
    try {
      const [groupId, { id, retentionMs }] = await Promise.all([this.#groupId, asked]);
      return { groupId, topicId: id, retentionMs };
    } catch (error) {
      this.#groupId = undefined;
      this.#topics.delete(topic);
      throw error;
    }
  }

  async #get<T>(what: string, name: string): Promise<T> {
    return (await this.#connection.call({ method: 'GET', path: pathOf(what, name) })).json<T>();
  }
}

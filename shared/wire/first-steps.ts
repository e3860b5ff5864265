import { PARTITIONS_DEFAULT } from '../domain/limits.ts';
import { partitionOf } from '../domain/partition.ts';

/**
 * The first three commands of a newcomer, ready to paste: make a topic, produce a record, read it back.
 *
 * @param baseUrl of the API, without a slash at its end, such as `http://127.0.0.1:4510`
 * @param curl the command with whatever the place needs (signing, say)
 */
export function firstSteps(baseUrl: string, curl = 'curl'): [create: string, produce: string, read: string] {
  const topic = `${baseUrl}/v1/topics/orders`;
  const key = 'order-17';
  const partition = partitionOf(new TextEncoder().encode(key), PARTITIONS_DEFAULT);
  const body = `{"records":[{"key":"${key}","value":{"type":"OrderPlaced","total":12.5}}]}`;
  return [
    `${curl} -X PUT ${topic}`,
    `${curl} ${topic}/records -H 'Content-Type: application/json' -d '${body}'`,
    `${curl} '${topic}/partitions/${partition}/records?offset=earliest'`,
  ];
}

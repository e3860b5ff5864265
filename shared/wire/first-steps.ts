/** Where murmur2 puts the key `order-17` in a topic of `PARTITIONS_DEFAULT` = 8 partitions. */
const PARTITION_OF_ORDER_17 = 1;

/**
 * The first three commands of a newcomer, ready to paste: make a topic, produce a record, read it back.
 *
 * @param baseUrl of the API, without a slash at its end, such as `http://127.0.0.1:4510`
 * @param curl the command with whatever the place needs (signing, say)
 */
export function firstSteps(baseUrl: string, curl = 'curl'): [create: string, produce: string, read: string] {
  const topic = `${baseUrl}/v1/topics/orders`;
  const body = '{"records":[{"key":"order-17","value":{"type":"OrderPlaced","total":12.5}}]}';
  return [
    `${curl} -X PUT ${topic}`,
    `${curl} ${topic}/records -H 'Content-Type: application/json' -d '${body}'`,
    `${curl} '${topic}/partitions/${PARTITION_OF_ORDER_17}/records?offset=earliest'`,
  ];
}

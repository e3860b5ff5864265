import { type DeliveryBatch, type DeliveryRecord, partitionName } from '../domain/delivery.ts';

/*
 * The event that AWS's Kafka event source hands to a function, of one partition, and `vertebra` beside it.
 * Source: AWS Lambda, "Using Lambda with Amazon MSK", example event.
 *
 *   {"eventSource": "aws:kafka", "eventSourceArn", "bootstrapServers",
 *    "records": {"orders-3": [{"topic", "partition", "offset", "timestamp", "timestampType": "CREATE_TIME",
 *                              "key": base64 or null, "value": base64 or null, "headers": [{name: [byte, …]}, …]}]},
 *    "vertebra": {"group", "groupId", "topicId", "partition", "epoch", "retentionMs", "redriven"?: true, "lane"?}}
 *
 * A value that does not go with its record comes as the JSON {"url", "size", "sha256"}, and the record has the header
 * "vertebra-value-encoding": "url".
 */

/** There is no cluster to name: the topic's incarnation is what identifies the source. */
const ARN_PREFIX = 'arn:vertebra:topic:';
const LINK_HEADER = 'vertebra-value-encoding';
const LINK_ENCODING = [...Buffer.from('url')];

/** The record as a JSON text. Its length is its share of the event. */
export function kafkaRecord({ topic, partition }: DeliveryBatch, record: DeliveryRecord): string {
  const { offset, timestamp, key, headers, link } = record;
  const value = link === undefined ? record.value : Buffer.from(JSON.stringify(link));
  const named = headers.map(({ name, value }) => ({ [name]: [...(value ?? [])] }));
  if (link !== undefined) named.push({ [LINK_HEADER]: LINK_ENCODING });
  return JSON.stringify({
    topic,
    partition,
    offset,
    timestamp,
    timestampType: 'CREATE_TIME',
    key: base64OrNull(key),
    value: base64OrNull(value),
    headers: named,
  });
}

/** @param records of the batch, each by `kafkaRecord` */
export function kafkaEvent(batch: DeliveryBatch, records: readonly string[]): string {
  const { group, topicId, partition, epoch, retentionMs, lane } = batch;
  const source = { eventSource: 'aws:kafka', eventSourceArn: ARN_PREFIX + topicId, bootstrapServers: '' };
  const redriven = batch.records.some(({ redrives = 0 }) => redrives > 0);
  const of = { group: group.name, groupId: group.id, topicId, partition, epoch, retentionMs, lane };
  const vertebra = JSON.stringify({ ...of, ...(redriven && { redriven }) });
  const named = JSON.stringify(partitionName(batch));
  return `${JSON.stringify(source).slice(0, -1)},"records":{${named}:[${records.join(',')}]},"vertebra":${vertebra}}`;
}

function base64OrNull(bytes: Uint8Array | null): string | null {
  return bytes === null ? null : Buffer.from(bytes).toString('base64');
}

import { describe, expect, it } from 'vitest';
import { InvalidRequest } from '../../../shared/domain/errors.ts';
import { parseFetchRequest } from '../../../shared/wire/fetch-request.ts';
import { ANSWER_BODY_BYTES_MAX } from '../../../shared/wire/http-answer.ts';
import { parseApiRequest } from '../../../shared/wire/http-request.ts';
import { gatewayEvent } from '../../support/gateway-call.ts';

const [JSON_TYPE, RAW, EVENTS] = [
  'application/json',
  'application/vnd.kafka.recordbatch',
  'application/cloudevents-batch+json',
];

const fetch = (query: string, accept?: string) =>
  parseFetchRequest(
    parseApiRequest(
      gatewayEvent(
        'GET',
        `/v1/topics/orders/partitions/3/records?${query}`,
        accept === undefined ? {} : { headers: { accept } },
      ).event,
    ),
  );

describe('a fetch', () => {
  it('has its defaults', () => {
    expect(fetch('offset=41')).toEqual({
      topic: 'orders',
      partition: 3,
      offset: 41,
      maxRecords: 500,
      maxBytes: 1_048_576,
      waitMs: 0,
      values: 'json',
      as: 'application/json',
    });
  });

  it('takes every parameter up to its bounds', () => {
    expect(fetch('offset=earliest&maxRecords=1000&maxBytes=1&waitMs=20000&values=base64&reset=latest')).toMatchObject({
      offset: 'earliest',
      maxRecords: 1_000,
      maxBytes: 1,
      waitMs: 20_000,
      values: 'base64',
      reset: 'latest',
    });
    expect(fetch('offset=9007199254740991')).toMatchObject({ offset: Number.MAX_SAFE_INTEGER });
  });

  it('may ask for more bytes than one answer carries, and gets what one carries', () => {
    expect(fetch('offset=0&maxBytes=5242880')).toMatchObject({ maxBytes: ANSWER_BODY_BYTES_MAX });
  });

  it.each([
    ['', "'offset' is required"],
    ['offset=', "'offset' must be earliest, latest or a decimal integer"],
    ['offset=-1', "'offset' must"],
    ['offset=01', "'offset' must"],
    ['offset=+5', "'offset' must"],
    ['offset=5.5', "'offset' must"],
    ['offset=1e3', "'offset' must"],
    ['offset=9007199254740993', "'offset' must"],
    ['offset=EARLIEST', "'offset' must"],
    ['offset=0&maxRecords=0', "'maxRecords' must be a decimal integer from 1 to 1000"],
    ['offset=0&maxRecords=1001', "'maxRecords' must"],
    ['offset=0&maxBytes=0', "'maxBytes' must be a decimal integer from 1 to 5242880"],
    ['offset=0&maxBytes=5242881', "'maxBytes' must"],
    ['offset=0&waitMs=20001', "'waitMs' must be a decimal integer from 0 to 20000"],
    ['offset=0&waitMs=60000', "'waitMs' must"],
    ['offset=0&values=text', "'values' must be 'json' or 'utf8' or 'base64'"],
    ['offset=0&reset=none', "'reset' must be 'earliest' or 'latest'"],
    ['offset=0&limit=1', "Query parameter 'limit' is unknown"],
    ['offset=0&offset=1', "'offset' is given more than once"],
  ])('is refused for %j', (query, detail) => {
    expect(() => fetch(query)).toThrow(InvalidRequest);
    expect(() => fetch(query)).toThrow(detail);
  });

  it.each([
    ['application/vnd.kafka.recordbatch', RAW],
    ['Application/Vnd.Kafka.RecordBatch; q=0.9, application/json;q=0.5', RAW],
    ['application/vnd.kafka.recordbatch;q=0.5, application/json', JSON_TYPE],
    ['application/vnd.kafka.recordbatch;q=0', JSON_TYPE],
    ['application/cloudevents-batch+json', EVENTS],
    ['application/cloudevents-batch+json;q=0.5, application/json', JSON_TYPE],
    ['application/cloudevents-batch+json, application/vnd.kafka.recordbatch;q=0.9', EVENTS],
    ['application/cloudevents+json', JSON_TYPE],
    ['*/*', JSON_TYPE],
    ['application/*', JSON_TYPE],
    ['text/html', JSON_TYPE],
  ])('that accepts %s is answered with %s', (accept, type) => {
    expect(fetch('offset=0', accept).as).toBe(type);
  });
});

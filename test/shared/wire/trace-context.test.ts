import { describe, expect, it } from 'vitest';
import { commonTraceContext, traceContext, traceContextOf } from '../../../shared/wire/trace-context.ts';
import { deliveryBatch } from '../../support/deliveries.ts';

const TRACE = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const OTHER = '00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01';
const of = (...headers: [string, string | null][]) => traceContextOf(deliveryBatch([{ headers }]).records[0]!.headers);

describe('a trace', () => {
  it('is what W3C says, of this version or a later one', () => {
    expect(traceContext(TRACE, 'a=1,b=2')).toEqual({ traceparent: TRACE, tracestate: 'a=1,b=2' });
    const later = `cc${TRACE.slice(2)}-what-the-future-will-be-like`;
    expect(traceContext(later)).toEqual({ traceparent: later });
  });

  it.each([
    undefined,
    7,
    '',
    `${TRACE}-more`,
    `${TRACE}\r\nx: y`,
    TRACE.toUpperCase(),
    `ff${TRACE.slice(2)}`,
    TRACE.replace('0af7651916cd43dd8448eb211c80319c', '0'.repeat(32)),
    TRACE.replace('b7ad6b7169203331', '0'.repeat(16)),
  ])('is not %j', (text) => {
    expect(traceContext(text)).toBeUndefined();
  });

  it('goes without a state that no header could hold', () => {
    for (const state of ['', 'a=1\r\nx: y', 'x'.repeat(513), 7]) {
      expect(traceContext(TRACE, state)).toEqual({ traceparent: TRACE });
    }
  });
});

describe('the trace of a record', () => {
  it('is that of its headers, or of the event that it came in as', () => {
    expect(of(['traceparent', TRACE], ['tracestate', 'a=1'])).toEqual({ traceparent: TRACE, tracestate: 'a=1' });
    expect(of(['traceparent', OTHER], ['ce_traceparent', TRACE])).toEqual({ traceparent: TRACE });
    expect(of(['traceparent', OTHER], ['ce_traceparent', 'none'])).toEqual({ traceparent: OTHER });
  });

  it('is none when it has none, or more than one', () => {
    expect(of()).toBeUndefined();
    expect(of(['traceparent', null])).toBeUndefined();
    expect(of(['traceparent', TRACE], ['traceparent', OTHER])).toBeUndefined();
    expect(of(['Traceparent', TRACE])).toBeUndefined(); // Kafka's names are what they are
  });

  it('is that of a batch when all have the same', () => {
    const common = (...traces: string[]) =>
      commonTraceContext(deliveryBatch(traces.map((trace) => ({ headers: [['traceparent', trace]] }))).records);
    expect(common(TRACE)).toEqual({ traceparent: TRACE });
    expect(common(TRACE, TRACE)).toEqual({ traceparent: TRACE });
    expect(common(TRACE, OTHER)).toBeUndefined();
    expect(common(TRACE, 'none')).toBeUndefined();
    expect(common('none', TRACE)).toBeUndefined();
  });
});

import { describe, expect, it } from 'vitest';
import { describeFailure, readableLogLine } from '../../local/function-log.ts';
import { gatewayMessage } from '../../local/gateway-answer.ts';
import { toEvent } from '../../local/gateway-event.ts';
import { Terminal } from '../../local/terminal.ts';

function screen(columns?: number) {
  const written: string[] = [];
  const write = (text: string) => written.push(text);
  return { written, terminal: new Terminal({ write, isTTY: columns !== undefined, columns }) };
}

describe('a terminal', () => {
  it('rewrites its status lines in place and prints other lines above them', () => {
    const { written, terminal } = screen(80);
    terminal.print('hello');
    terminal.showStatus(['orders 1', 'users 2']);
    terminal.print('an error');
    terminal.showStatus(['orders 3']);
    expect(written).toEqual([
      'hello\n',
      'orders 1\nusers 2\n',
      '\u001b[2F\u001b[Jan error\norders 1\nusers 2\n',
      '\u001b[2F\u001b[Jorders 3\n',
    ]);
  });

  it('cuts status lines to its width, so that they can be taken back', () => {
    const { written, terminal } = screen(10);
    terminal.showStatus(['0123456789', '012345678']);
    expect(written).toEqual(['01234567…\n012345678\n']);
  });

  it('obeys no control characters in what it is given', () => {
    const { written, terminal } = screen();
    terminal.print('a\u001b[2J\r\u0000\u009b1mb\tc\nd');
    expect(written).toEqual(['a\ufffd[2J\ufffd\ufffd\ufffd1mb\tc\nd\n']);
  });
});

describe('a line that a function logs', () => {
  it('becomes a sentence with its error', () => {
    const entry = {
      level: 'ERROR',
      message: 'request failed',
      timestamp: '2026-01-01T00:00:00.000Z',
      service: 'service_undefined',
      requestId: 'abc=',
      tries: 2,
      error: { name: 'TypeError', message: 'x is not', stack: 'TypeError: x is not\n    at y (z.ts:1:2)' },
    };
    expect(readableLogLine(JSON.stringify(entry))).toBe(
      'error  request failed  requestId=abc=  tries=2\nTypeError: x is not\n    at y (z.ts:1:2)',
    );
    const { stack: _, ...withoutStack } = entry.error;
    expect(readableLogLine(JSON.stringify({ ...entry, error: withoutStack }))).toMatch(/\nTypeError: x is not$/);
  });

  it('is left out when it is a metric, and left alone when it is anything else', () => {
    expect(readableLogLine('{"_aws":{"CloudWatchMetrics":[]},"Requests":1}')).toBeNull();
    for (const line of ['plain text', '{"not": json', '{"level":3}', '{"a":1}', '']) {
      expect(readableLogLine(line)).toBe(line);
    }
  });
});

describe('a request that failed', () => {
  const { event } = toEvent({
    method: 'GET',
    target: '/v1/health',
    httpVersion: '1.1',
    rawHeaders: [],
    body: Buffer.alloc(0),
    sourceIp: '127.0.0.1',
    port: 0,
    requestId: 'abc=',
    receivedAt: 0,
  })!;
  const failure = (statusCode: number, error?: Error) =>
    describeFailure({ event, answer: gatewayMessage(statusCode, ''), ...(error && { error }) });

  it('is told with its route, its id and what was thrown', () => {
    expect(failure(500)).toBe('500  GET /v1/health  requestId=abc=');
    expect(failure(503, new Error('cut off'))).toMatch(
      /^503 {2}GET \/v1\/health {2}requestId=abc=\nError: cut off\n +at /,
    );
  });

  it('is not told when the caller was at fault, or asked for what is not there yet', () => {
    for (const statusCode of [200, 404, 416, 429]) expect(failure(statusCode)).toBeNull();
  });
});

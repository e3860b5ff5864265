import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { openGateway } from '../../local/gateway.ts';

it('warns of nothing however many requests are under way', async () => {
  const requests = 24;
  const warnings: Error[] = [];
  const note = (warning: Error) => warnings.push(warning);
  process.on('warning', note);
  let release = () => {};
  const all = new Promise<void>((resolve) => {
    release = resolve;
  });
  let waiting = 0;
  const handler = async () => {
    if (++waiting === requests) release();
    await all;
    return { statusCode: 200, body: '' };
  };
  const gateway = await openGateway({
    handlers: { produce: handler, fetch: handler, topics: handler, groups: handler },
    port: 0,
  });
  try {
    const answers = Array.from({ length: requests }, () => fetch(`${gateway.url}/v1/health`));
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual(Array(requests).fill(200));
    await nextTurn(); // warnings are told a tick later
    expect(warnings).toEqual([]);
  } finally {
    process.off('warning', note);
    await gateway.close(0);
  }
});

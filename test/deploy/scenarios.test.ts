import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SCENARIOS } from '../scenarios/index.ts';
import { itHolds } from '../scenarios/scenario.ts';
import { type DeployedTarget, offeredBy, openDeployed, readDeployment } from './deployed.ts';

const deployment = readDeployment();
let target: DeployedTarget;
beforeAll(async () => {
  target = await openDeployed(deployment);
});
afterAll(() => target?.close());

describe('a deployed backbone', () => {
  itHolds(() => target, { scenarios: SCENARIOS, offered: offeredBy(deployment), timeoutMs: 240_000 });

  it('lets nobody in who does not sign', async () => {
    const answer = await fetch(`${target.url}/v1/topics`);
    expect([answer.status, await answer.text()]).toEqual([403, expect.stringMatching(/^\{"message": ?"Forbidden"\}$/)]);
  });

  it('lets no function in that has no right to call it', async () => {
    expect(await target.invoke(deployment.strangerArn)).toMatchObject({ status: 403 });
  });
});

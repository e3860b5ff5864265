import { TransactWriteItemsCommand } from '@aws-sdk/client-dynamodb';
import { OutcomeUnknown, Unavailable } from '../../shared/domain/errors.ts';
import type { PreparedAppend } from '../../shared/domain/prepared.ts';
import type { AppendResult } from '../../shared/operations/partition-append.ts';
import { prepareAppend, settlePrepared } from '../../shared/operations/prepare-append.ts';
import { batchesOf, type Draft, drawDraft, layOut } from './producers.ts';
import type { Run } from './run.ts';
import type { Host } from './simulator/host.ts';
import { TABLES } from './simulator/tables.ts';
import type { Told } from './simulator/world.ts';

const TRIES_MAX = 3;
const SETTLEMENTS_MAX = 4;

/** Prepares records and stores them by a transaction of its own, together with an order, until that is done. */
export async function prepare(run: Run): Promise<void> {
  const { random } = run;
  const draft = drawDraft(run);
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    await run.sleep(random.between(0, 300));
    const outcome = await prepareOnce(run, draft);
    if (outcome === 'done' || random.chance(0.2)) return;
  }
}

async function prepareOnce(run: Run, { topic, groups }: Draft): Promise<'done' | 'again'> {
  const { random, world, recorder } = run;
  const records = groups.flatMap((group) => group.records);
  const told = recorder.append({ topic, records }, ({ placement }) => layOut(groups, placement));
  const caller = run.startHost();
  const askedAt = caller.now();
  const host = run.anyHost();
  run.harm(host);
  const answer = await world.call(host, () =>
    prepareAppend(host.backbone, { topic, build: (placement) => batchesOf(groups, placement) }),
  );
  if (answer === 'nothing' || 'error' in answer) {
    told(answer === 'nothing' ? { error: new Unavailable('nothing is stored that was never handed out') } : answer);
    return 'again';
  }
  const prepared = answer.answer;
  run.harm(caller);
  await run.sleep(random.chance(0.8) ? random.between(0, 50) : random.between(0, 7_000));
  const sent = await transact(run, caller, prepared, askedAt + prepared.lifeMs);
  if (sent === 'done') {
    told({ answer: resultOf(prepared) });
    world.coverage.count('prepared append committed');
    if (random.chance(0.3)) await judge(run, prepared, true);
    return 'done';
  }
  if (random.chance(0.15)) {
    world.coverage.count('prepared append left behind');
    told('nothing');
    return 'done';
  }
  const committed = await settle(run, prepared);
  if (committed === undefined) {
    told('nothing');
    return 'done';
  }
  world.coverage.count(committed ? 'prepared append found committed' : 'prepared append aborted');
  told(committed ? { answer: resultOf(prepared) } : { error: new Unavailable('the transaction was not carried out') });
  if (random.chance(0.3)) await judge(run, prepared, committed);
  return committed ? 'done' : 'again';
}

/** The caller's own transaction: an order, which may be there already, and the records. */
async function transact(run: Run, caller: Host, prepared: PreparedAppend, until: number): Promise<'done' | 'in doubt'> {
  const { random, world } = run;
  // Its items refuse to be sent any later.
  if (!caller.alive || caller.now() > until) return 'in doubt';
  const order = random.chance(0.1) ? 'an order that is there' : run.nextName();
  const item = { pk: { S: 'business' }, sk: { S: order } };
  const condition = { ConditionExpression: 'attribute_not_exists(pk)' };
  const puts = prepared.slots.map(({ partition, reservation, batch }) => ({
    Put: caller.backbone.log.put({ topicId: prepared.topic.id, partition }, reservation, batch),
  }));
  const TransactItems = [{ Put: { TableName: TABLES.stateTable, Item: item, ...condition } }, ...puts];
  const told: Told<object> = await world.call(caller, () =>
    caller.dynamodb.send(new TransactWriteItemsCommand({ TransactItems })),
  );
  return told !== 'nothing' && 'answer' in told ? 'done' : 'in doubt';
}

/** Asks until somebody tells; two at once now and then, who must not be told different things. */
async function settle(run: Run, prepared: PreparedAppend): Promise<boolean | undefined> {
  const { random } = run;
  for (let tries = 0; tries < SETTLEMENTS_MAX; tries++) {
    const asked = Array.from({ length: random.chance(0.2) ? 2 : 1 }, () => ask(run, prepared));
    const [told, ...others] = (await Promise.all(asked)).filter((committed) => committed !== undefined);
    if (others.some((other) => other !== told)) differ(run, prepared);
    if (told !== undefined) return told;
    await run.sleep(random.pick([50, 1_100, 12_000]));
  }
  return undefined;
}

async function ask(run: Run, { topic, slots }: PreparedAppend): Promise<boolean | undefined> {
  const host = run.anyHost();
  run.harm(host);
  const told = await run.world.call(host, () => settlePrepared(host.backbone, { topic, slots }));
  if (told === 'nothing') return undefined;
  if ('answer' in told) return told.answer;
  if (!(told.error instanceof OutcomeUnknown)) run.unexpected(told.error);
  return undefined;
}

/** Whoever asks again later is told the same. */
async function judge(run: Run, prepared: PreparedAppend, committed: boolean): Promise<void> {
  const told = await ask(run, prepared);
  if (told !== undefined && told !== committed) differ(run, prepared);
}

function differ(run: Run, { slots }: PreparedAppend): void {
  const [slot] = slots;
  const what = `what was prepared at ${slot?.partition}@${slot?.reservation.base} is said to be stored, and not to be`;
  run.violations.push({ kind: 'answers differ', what });
}

function resultOf({ slots, placement }: PreparedAppend): AppendResult {
  const outcomes = slots.map(({ partition, reservation: { base, time } }) => {
    return { partition, baseOffset: base, appendedAt: time };
  });
  return { placement, outcomes, duplicate: false };
}

import type { Placement } from '../../shared/domain/claim.ts';
import { InvalidRequest, UploadInvalid } from '../../shared/domain/errors.ts';
import type { Batch } from '../../shared/domain/record.ts';
import { appendBatches } from '../../shared/operations/append-batches.ts';
import type { Run } from './run.ts';
import type { Host } from './simulator/host.ts';
import { bytesOf } from './simulator/mirror.ts';
import { upload } from './uploaders.ts';

export interface Group {
  readonly where: { readonly partition: number } | { readonly hash: number } | 'anywhere';
  readonly records: readonly string[];
}

/** A request to append, which its caller may send more than once. */
export interface Draft {
  readonly topic: string;
  readonly groups: readonly Group[];
  /** Ids of the uploads that are the values of records, by record. */
  readonly uploads?: ReadonlyMap<string, string>;
  readonly once?: { readonly key: string; readonly fingerprint: string; readonly lifeMs: number };
}

const TRIES_MAX = 4;
const UPLOADS_MAX = 3;
const KEY_LIFE_MS_MAX = 24 * 3_600_000;

/** Sends one request, as one caller or as several, until it is answered or they give up. */
export async function produce(run: Run): Promise<void> {
  const { random, environment } = run;
  const draft = await withUploads(run, drawDraft(run));
  const senders = draft.once !== undefined && random.chance(environment.raced) ? random.between(2, 3) : 1;
  const other =
    draft.once !== undefined && random.chance(environment.reused) ? drawDraft(run, draft.once.key) : undefined;
  const all = Array.from({ length: senders }, () => send(run, draft));
  await Promise.all(
    other === undefined ? all : [...all, run.sleep(random.between(0, 3_000)).then(() => send(run, other))],
  );
}

async function send(run: Run, draft: Draft): Promise<void> {
  const { random } = run;
  await run.sleep(random.between(0, 300));
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const outcome = await sendOnce(run, draft, run.anyHost());
    if (outcome === 'refused') return;
    // A repeat of what was answered is what a caller does whose own process died.
    if (outcome === 'answered' && (draft.once === undefined || !random.chance(0.3))) return;
    if (outcome === 'retry' && draft.once === undefined && random.chance(0.4)) return;
    await run.sleep(random.pick([0, 50, 1_000, 1_100, 3_000, 40_000]));
    if (random.chance(0.1)) await run.sleep(random.pick(run.environment.pausesMs));
  }
}

/** Sends a request once. */
export async function sendOnce(run: Run, draft: Draft, host: Host): Promise<'answered' | 'retry' | 'refused'> {
  const { topic, groups, uploads, once } = draft;
  const records = groups.flatMap((group) => group.records);
  const references = records.flatMap((record, index) => {
    const uploadId = uploads?.get(record);
    return uploadId === undefined ? [] : { record, index, uploadId };
  });
  const batchOf = (share: readonly string[]): Batch => {
    const placed = references.map((reference) => ({ ...reference, position: share.indexOf(reference.record) }));
    const own = placed.filter(({ position }) => position >= 0);
    return { count: share.length, bytes: bytesOf(share), json: false, ...(own.length > 0 && { uploads: own }) };
  };
  const told = run.recorder.append(
    { topic, records, ...(uploads && { uploads }), ...(once && { once }) },
    ({ placement }) => layOut(groups, placement),
  );
  run.harm(host);
  const answer = await run.world.call(host, () =>
    appendBatches(host.backbone, {
      topic,
      build: (placement) =>
        new Map([...layOut(groups, placement)].map(([partition, share]) => [partition, batchOf(share)])),
      ...(references.length > 0 && { uploads: references }),
      ...(once && { once }),
    }),
  );
  told(answer);
  if (answer === 'nothing') return 'retry';
  if ('answer' in answer) return answer.answer.outcomes.some((outcome) => 'error' in outcome) ? 'retry' : 'answered';
  // What was not uploaded yet may be by then.
  if (answer.error instanceof UploadInvalid) return run.random.chance(0.5) ? 'retry' : 'refused';
  return (answer.error as { retryable?: boolean }).retryable ? 'retry' : 'refused';
}

/** The groups' records as batches, by partition. */
export function batchesOf(groups: readonly Group[], placement: Placement): Map<number, Batch> {
  const batchOf = (share: readonly string[]) => ({ count: share.length, bytes: bytesOf(share), json: false });
  return new Map([...layOut(groups, placement)].map(([partition, share]) => [partition, batchOf(share)]));
}

export function layOut(groups: readonly Group[], { partitions, keyless }: Placement): Map<number, string[]> {
  const layout = new Map<number, string[]>();
  for (const { where, records } of groups) {
    const partition = where === 'anywhere' ? keyless : 'hash' in where ? where.hash % partitions : where.partition;
    if (partition >= partitions) throw new InvalidRequest(`there is no partition ${partition}`);
    layout.set(partition, [...(layout.get(partition) ?? []), ...records]);
  }
  return layout;
}

export function drawDraft(run: Run, sharedKey?: string): Draft {
  const { random, environment } = run;
  const name = run.nextName();
  const groups = Array.from({ length: random.pick([1, 1, 1, 2, 3]) }, (_, group): Group => {
    const count = random.chance(run.environment.large) ? random.between(20, 60) : random.between(1, 5);
    const records = Array.from({ length: count }, (_, i) => `${name}/${group}.${i}`);
    const where = random.chance(0.3)
      ? 'anywhere'
      : random.chance(0.5)
        ? { hash: random.between(0, 99) }
        : { partition: random.between(0, environment.partitions - 1) };
    return { where, records };
  });
  const draft = { topic: run.anyTopic(), groups };
  if (sharedKey === undefined && !random.chance(environment.keyed)) return draft;
  const lifeMs = Math.min(KEY_LIFE_MS_MAX, run.shortestRetentionMs / 2) - 2 * environment.skewMs - 2_000;
  const fingerprint = Buffer.from(name.padEnd(32)).toString('hex');
  return { ...draft, once: { key: sharedKey ?? `key-${name}`, fingerprint, lifeMs } };
}

/** Lets some records have uploads as their values: own ones as a rule, now and then one that others have named, too. */
async function withUploads(run: Run, draft: Draft): Promise<Draft> {
  const { random, environment, recorder } = run;
  if (environment.uploads === 0) return draft;
  const chosen = draft.groups.flatMap(({ records }) => records.filter(() => random.chance(environment.uploads)));
  const uploads = new Map<string, string>();
  for (const record of chosen.slice(0, UPLOADS_MAX)) {
    const known = [...recorder.announced.keys()];
    const other = known.length > 0 && random.chance(0.15);
    const uploadId = other ? random.pick(known) : await upload(run, draft.topic);
    if (uploadId !== undefined) uploads.set(record, uploadId);
  }
  if (random.chance(0.05)) await run.sleep(random.pick(environment.pausesMs));
  return uploads.size === 0 ? draft : { ...draft, uploads };
}

/** Writers that reserve a few offsets each and are never heard of again, then one that is. */
export async function crowd(run: Run): Promise<void> {
  const { random } = run;
  const slow = produce(run);
  const writers = random.between(10, 24);
  for (let i = 0; i < writers; i++) {
    const host = run.startHost();
    void sendOnce(run, { ...drawDraft(run), topic: run.topics[0]! }, host);
    // Two ways there and back bring it from its first look at the topic to its reservation, a third one to its fill.
    run.world.scheduler.after(random.between(14, 22), '', () => {
      if (host.alive) run.world.crash(host);
    });
  }
  await run.sleep(random.pick([40, 300, 2_100]));
  await Promise.all([slow, produce(run)]);
}

import { gunzipSync, gzipSync } from 'node:zlib';
import { INFLATED_PLAN_BYTES_MAX } from '../domain/limits.ts';
import type { Plan } from '../domain/plan.ts';

/*
 * Attribute `plan`: gzip of a JSON object
 *   topics   [[name, id], …]                  in the order of their names
 *   members  [[key, sessionTimeoutMs], …]     in the order of their keys
 *   owners   [[member, …], …]                 per topic, per partition: index into members, −1: nobody
 *   tenures  [epoch, …]                       each epoch that tenures begin with, once
 *   since    [[tenure, …], …]                 per topic, per partition: index into tenures
 * A topic has as many partitions as its list in `owners`.
 */
interface Layout {
  readonly topics: readonly (readonly [name: string, id: string])[];
  readonly members: readonly (readonly [key: string, sessionTimeoutMs: number])[];
  readonly owners: readonly (readonly number[])[];
  readonly tenures: readonly number[];
  readonly since: readonly (readonly number[])[];
}

export function encodePlan(plan: Plan): Uint8Array {
  const tenures = new Map<number, number>();
  for (const epoch of plan.epochFrom.flat()) if (!tenures.has(epoch)) tenures.set(epoch, tenures.size);
  const layout: Layout = {
    topics: plan.topics.map(({ name, id }) => [name, id]),
    members: plan.members.map(({ key, sessionTimeoutMs }) => [key, sessionTimeoutMs]),
    owners: plan.owners,
    tenures: [...tenures.keys()],
    since: plan.epochFrom.map((list) => list.map((epoch) => tenures.get(epoch)!)),
  };
  return gzipSync(JSON.stringify(layout));
}

/** @throws {Error} when it is damaged */
export function decodePlan(bytes: Uint8Array): Plan {
  const text = gunzipSync(bytes, { maxOutputLength: INFLATED_PLAN_BYTES_MAX }).toString();
  const { topics, members, owners, tenures, since } = JSON.parse(text) as Layout;
  return {
    topics: topics.map(([name, id], topic) => ({ name, id, partitions: owners[topic]!.length })),
    members: members.map(([key, sessionTimeoutMs]) => ({ key, sessionTimeoutMs })),
    owners,
    epochFrom: since.map((list) => list.map((tenure) => tenures[tenure]!)),
  };
}

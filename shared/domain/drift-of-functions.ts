import { type BackboneParts, MAPPING, type Part } from './backbone-parts.ts';
import type { AlarmFacts, FunctionFacts, MappingFacts } from './deployed-facts.ts';
import type { Finding } from './finding.ts';

/** Functions that send what wakes them. */
const LOOPING: readonly string[] = ['Deliver', 'DeliverAside'];

/**
 * Where a mapping differs from what the code rests on. Pure.
 *
 * @param streamArn of the log as it is now; absent: not known
 * @param subscriptions whether anybody is pushed to; absent: not known
 */
export function driftOfMapping(
  { id, name }: Part,
  facts: MappingFacts,
  { streamArn, subscriptions }: { readonly streamArn?: string; readonly subscriptions?: boolean },
): Finding[] {
  const found: Finding[] = [];
  const subject = `mapping ${id} (${name})`;
  const add = (code: Finding['code'], detail: string) => found.push({ code, subject, detail });
  // Removals have to be followed by whoever is subscribed or not; appends are told only where somebody listens.
  const isNeeded = id === MAPPING.removals ? true : subscriptions;
  if (!facts.isEnabled && isNeeded) add('mapping_off', `it is ${facts.state}`);
  if (facts.isEnabled && id === MAPPING.inserts && subscriptions === false) {
    add('mapping_needless', 'every append is told, and to nobody');
  }
  if (id !== MAPPING.wakeUps && streamArn !== undefined && facts.source !== streamArn) {
    add('mapping_detached', `it follows ${facts.source}, which the log no longer has`);
  }
  if (id === MAPPING.wakeUps && !facts.takesFailures) {
    add('mapping_changed', 'the answer that names what failed is not asked for: what failed would be deleted');
  }
  if (facts.isEnabled && facts.lastResult !== undefined && /^PROBLEM/i.test(facts.lastResult)) {
    add('mapping_failing', `its last call ended with '${facts.lastResult}'`);
  }
  return found;
}

/**
 * Where a function differs from what was deployed. Pure.
 *
 * @param expected what its variables must be, as far as it has them
 */
export function driftOfFunction(
  { id, name }: Part,
  facts: FunctionFacts,
  expected: Readonly<Record<string, string>>,
): Finding[] {
  const found: Finding[] = [];
  const add = (code: Finding['code'], detail: string) =>
    found.push({ code, subject: `function ${id} (${name})`, detail });
  if (facts.fault !== undefined) add('function_unusable', facts.fault);
  if (facts.concurrency === 0) add('function_throttled', 'its reserved concurrency is 0');
  if (LOOPING.includes(id) && facts.mayLoop === false) add('function_loop_stopped', 'it may not wake itself');
  for (const [variable, value] of Object.entries(expected)) {
    const is = facts.environment[variable];
    if (is !== undefined && is !== value) add('function_environment_wrong', `${variable} is '${is}', not '${value}'`);
  }
  return found;
}

/** Whether all are of one version, as far as they say. Pure. @param versions by function */
export function driftOfVersions(versions: Readonly<Record<string, string>>): Finding[] {
  const all = [...new Set(Object.values(versions))].sort();
  if (all.length < 2) return [];
  const told = all.map((version) => {
    const names = Object.keys(versions).filter((name) => versions[name] === version);
    return `${version} (${names.join(', ')})`;
  });
  return [{ code: 'function_versions_differ', subject: 'functions', detail: `there are ${told.join(' and ')}` }];
}

/** Pure. @param alarms those of the stack @param facts of those that are there */
export function driftOfAlarms(alarms: NonNullable<BackboneParts['alarms']>, facts: readonly AlarmFacts[]): Finding[] {
  return alarms.flatMap(({ id, name }) => {
    const is = facts.find((alarm) => alarm.name === name);
    const subject = `alarm ${id}`;
    if (is === undefined) return [{ code: 'alarm_missing', subject, detail: `${name} is not there` } as const];
    const found: Finding[] = [];
    if (!is.areActionsEnabled)
      found.push({ code: 'alarm_muted', subject, detail: `the actions of ${name} are disabled` });
    if (is.state === 'ALARM') found.push({ code: 'alarm_raised', subject, detail: `${name} is raised` });
    return found;
  });
}

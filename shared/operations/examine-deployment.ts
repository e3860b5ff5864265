import type { BackboneParts, Part } from '../domain/backbone-parts.ts';
import type {
  AlarmFacts,
  BucketFacts,
  FunctionFacts,
  MappingFacts,
  QueueFacts,
  TableFacts,
} from '../domain/deployed-facts.ts';
import { driftOfAlarms, driftOfFunction, driftOfMapping, driftOfVersions } from '../domain/drift-of-functions.ts';
import {
  driftOfBucket,
  driftOfDeadLetterQueue,
  driftOfTable,
  driftOfWakeQueue,
  type ExpectedTable,
  LOG_TABLE,
  STATE_TABLE,
} from '../domain/drift-of-storage.ts';
import { actOnAll } from '../domain/parallel.ts';
import type { Findings } from './findings.ts';

/** By what is looked at how things are set up. Each answers undefined for what is not there. */
export interface DeploymentPorts {
  readonly tables: { read(name: string): Promise<TableFacts | undefined> };
  readonly buckets: { read(name: string): Promise<BucketFacts | undefined> };
  readonly queues: { read(url: string): Promise<QueueFacts | undefined> };
  readonly functions: {
    read(name: string): Promise<FunctionFacts | undefined>;
    readMapping(id: string): Promise<MappingFacts | undefined>;
  };
  isRuleEnabled(name: string): Promise<boolean | undefined>;
  /** Those that are there. */
  alarmsNamed(names: readonly string[]): Promise<AlarmFacts[]>;
}

export interface DeploymentContext {
  /** What the variables of the functions must be, as far as they have them. */
  readonly environment: Readonly<Record<string, string>>;
  /** The variable that tells a function's version. */
  readonly versionVariable: string;
  /** Whether anybody is pushed to; absent: not known. */
  readonly subscriptions?: boolean;
}

/** Compares how a backbone is set up with how it must be. */
export async function examineDeployment(
  ports: DeploymentPorts,
  parts: BackboneParts,
  context: DeploymentContext,
  findings: Findings,
): Promise<void> {
  const log = await examineTable(ports, parts.logTable, LOG_TABLE, findings);
  await examineTable(ports, parts.stateTable, STATE_TABLE, findings);
  await examineOne(findings, `bucket ${parts.bucket}`, ports.buckets.read(parts.bucket), (facts) =>
    driftOfBucket(parts.bucket, facts),
  );
  await examineQueues(ports, parts, findings);
  const known = {
    ...(log?.stream && { streamArn: log.stream.arn }),
    ...(context.subscriptions !== undefined && { subscriptions: context.subscriptions }),
  };
  await actOnAll(parts.mappings ?? [], (part) =>
    examineOne(findings, `mapping ${part.id}`, ports.functions.readMapping(part.name), (facts) =>
      driftOfMapping(part, facts, known),
    ),
  );
  await examineFunctions(ports, parts.functions ?? [], context, findings);
  await actOnAll(parts.schedules ?? [], ({ id, name }) =>
    examineOne(findings, `schedule ${id}`, ports.isRuleEnabled(name), (isEnabled) =>
      isEnabled ? [] : [{ code: 'schedule_off', subject: `schedule ${id}`, detail: `the rule ${name} is disabled` }],
    ),
  );
  const alarms = parts.alarms ?? [];
  if (alarms.length === 0) return;
  const names = alarms.map(({ name }) => name);
  await examineOne(findings, 'alarms', ports.alarmsNamed(names), (facts) => driftOfAlarms(alarms, facts));
}

/** @returns what is known of the table, as far as it could be looked at */
async function examineTable(
  { tables }: DeploymentPorts,
  name: string,
  expected: ExpectedTable,
  findings: Findings,
): Promise<TableFacts | undefined> {
  let known: TableFacts | undefined;
  await examineOne(findings, `table ${name}`, tables.read(name), (facts) => {
    known = facts;
    return driftOfTable(name, expected, facts);
  });
  return known;
}

async function examineQueues({ queues }: DeploymentPorts, parts: BackboneParts, findings: Findings): Promise<void> {
  const { wakeQueueUrl, deadLetterQueueUrl } = parts;
  let deadLetters: string | undefined;
  if (deadLetterQueueUrl !== undefined) {
    await examineOne(findings, 'dead letter queue', queues.read(deadLetterQueueUrl), (facts) => {
      deadLetters = facts.arn;
      return driftOfDeadLetterQueue(facts);
    });
  }
  if (wakeQueueUrl === undefined) return;
  await examineOne(findings, 'wake queue', queues.read(wakeQueueUrl), (facts) => driftOfWakeQueue(facts, deadLetters));
}

async function examineFunctions(
  ports: DeploymentPorts,
  parts: readonly Part[],
  { environment, versionVariable }: DeploymentContext,
  findings: Findings,
): Promise<void> {
  const versions: Record<string, string> = {};
  await actOnAll(parts, (part) =>
    examineOne(findings, `function ${part.id}`, ports.functions.read(part.name), (facts) => {
      const version = facts.environment[versionVariable];
      if (version !== undefined) versions[part.id] = version;
      return driftOfFunction(part, facts, environment);
    }),
  );
  findings.add(...driftOfVersions(versions));
}

async function examineOne<T>(
  findings: Findings,
  subject: string,
  read: Promise<T | undefined>,
  judge: (facts: T) => ReturnType<typeof driftOfTable>,
): Promise<void> {
  await findings.attempt(subject, async () => {
    const facts = await read;
    findings.looked('resources');
    if (facts === undefined) findings.add({ code: 'resource_missing', subject, detail: 'it is not there' });
    else findings.add(...judge(facts));
  });
}

/** Something that a stack has made: by what the code calls it, and by what AWS does. */
export interface Part {
  readonly id: string;
  readonly name: string;
}

/** What a deployed backbone consists of. What is absent or empty is not there to be looked at. */
export interface BackboneParts {
  readonly logTable: string;
  readonly stateTable: string;
  readonly bucket: string;
  readonly wakeQueueUrl?: string;
  readonly deadLetterQueueUrl?: string;
  readonly functions?: readonly Part[];
  /** Event source mappings, by their UUIDs. */
  readonly mappings?: readonly Part[];
  /** What calls functions by the clock. */
  readonly schedules?: readonly Part[];
  readonly alarms?: readonly Part[];
}

/** A resource as CloudFormation lists it. */
export interface StackResource {
  readonly logicalId: string;
  /** Absent while it is being made. */
  readonly physicalId?: string;
  /** As `AWS::DynamoDB::Table`. */
  readonly type: string;
}

/** Mappings by the ids of their constructs: the log's removals, its appends, the wake queue. */
export const MAPPING = { removals: 'DeliveryStream', inserts: 'DeliveryInserts', wakeUps: 'DeliveryWakeUps' } as const;

/** The CDK ends a logical id with a hash of its construct's path. */
const HASH = '[0-9A-F]{8}';
const LOG_TABLE = new RegExp(`^(.*)StorageLog${HASH}$`);

/** The ids of the backbones that a stack holds, without what does not show in logical ids. */
export function backbonesIn(resources: readonly StackResource[]): string[] {
  return resources.flatMap(({ type, logicalId }) => {
    const found = type === 'AWS::DynamoDB::Table' ? LOG_TABLE.exec(logicalId) : null;
    return found === null ? [] : [found[1]!];
  });
}

/** @param backbone one of `backbonesIn` @returns undefined when its tables or its bucket are missing */
export function partsOf(resources: readonly StackResource[], backbone: string): BackboneParts | undefined {
  const pattern = new RegExp(`^${backbone}(.+?)${HASH}$`);
  // One may be named as another begins.
  const others = backbonesIn(resources).filter((other) => other !== backbone && other.startsWith(backbone));
  const own = resources.flatMap(({ type, logicalId, physicalId }) => {
    const id = pattern.exec(logicalId)?.[1];
    const isOwn = id !== undefined && !others.some((other) => logicalId.startsWith(other));
    return isOwn && physicalId !== undefined ? [{ type, id, name: physicalId }] : [];
  });
  const of = (type: string): Part[] => own.filter((part) => part.type === type).map(({ id, name }) => ({ id, name }));
  const nameOf = (type: string, id: string) => of(type).find((part) => part.id === id)?.name;
  const logTable = nameOf('AWS::DynamoDB::Table', 'StorageLog');
  const stateTable = nameOf('AWS::DynamoDB::Table', 'StorageState');
  const bucket = nameOf('AWS::S3::Bucket', 'StorageBucket');
  if (logTable === undefined || stateTable === undefined || bucket === undefined) return undefined;
  const wakeQueueUrl = nameOf('AWS::SQS::Queue', 'DeliveryWake');
  const deadLetterQueueUrl = nameOf('AWS::SQS::Queue', 'DeliveryDeadLetters');
  const mappings: readonly string[] = Object.values(MAPPING);
  return {
    ...{ logTable, stateTable, bucket },
    ...(wakeQueueUrl !== undefined && { wakeQueueUrl }),
    ...(deadLetterQueueUrl !== undefined && { deadLetterQueueUrl }),
    functions: of('AWS::Lambda::Function'),
    // Others' mappings in the same stack are not the backbone's to look after.
    mappings: of('AWS::Lambda::EventSourceMapping').filter(({ id }) => mappings.includes(id)),
    schedules: of('AWS::Events::Rule'),
    alarms: of('AWS::CloudWatch::Alarm'),
  };
}

/** `error`: it does not work, or soon will not; `warning`: somebody should look; `note`: worth knowing, and no finding. */
export type Severity = 'error' | 'warning' | 'note';

interface Kind {
  readonly severity: Severity;
  /** What to do about it, in one sentence. */
  readonly advice: string;
}

const SET_BACK = 'Set it back by hand: a deployment repairs only what differs in its template.';

/** Everything that the doctor can find. Codes are public: they are added, never renamed. */
export const FINDING_KINDS = {
  // ---- how it is deployed
  resource_missing: {
    severity: 'error',
    advice: 'Somebody deleted it: restore what held data; take the rest out of the stack and put it in again.',
  },
  table_unusable: { severity: 'error', advice: 'Name the tables of a backbone, and wait until they are active.' },
  table_replicated: {
    severity: 'error',
    advice: 'Remove the replicas: an append is safe because one region decides every conditional write.',
  },
  stream_changed: {
    severity: 'error',
    advice:
      'Switch the stream on with KEYS_ONLY, then make event source mappings for its new ARN as the old ones were.',
  },
  expiry_off: {
    severity: 'error',
    advice: 'Enable time to live on the attribute expiresAt: until then nothing that has expired is deleted.',
  },
  recovery_off: { severity: 'warning', advice: 'Enable point-in-time recovery: without it there is no way back.' },
  deletion_unprotected: {
    severity: 'note',
    advice: 'Enable deletion protection, unless the data is to go with the stack.',
  },
  bucket_public: {
    severity: 'error',
    advice: 'Block public access to the bucket: payloads are for those who may read the log.',
  },
  bucket_expires_objects: {
    severity: 'error',
    advice: 'Remove the lifecycle rule: a payload goes when its slot goes, and records whose payload is gone are lost.',
  },
  queue_changed: { severity: 'warning', advice: SET_BACK },
  queue_open: {
    severity: 'error',
    advice:
      'Take the statement out of its policy: wake-ups and dead letters are for the functions of the backbone alone.',
  },
  dead_messages: {
    severity: 'warning',
    advice: 'Read the messages of the dead letter queue: each tells of a record or of work that was given up.',
  },
  mapping_off: {
    severity: 'error',
    advice: 'Enable the event source mapping: aws lambda update-event-source-mapping --enabled --uuid <id>.',
  },
  mapping_detached: {
    severity: 'error',
    advice:
      'The stream was made anew: make a mapping like this one for the stream that the table has now, and delete this one.',
  },
  mapping_failing: { severity: 'warning', advice: 'Read the log of the function that the mapping calls.' },
  mapping_changed: { severity: 'error', advice: SET_BACK },
  mapping_needless: {
    severity: 'note',
    advice: 'Nobody is subscribed: the mapping may be off. The next change of a subscription sees to that.',
  },
  function_unusable: {
    severity: 'error',
    advice: 'Look why the last deployment of the function failed, and deploy again.',
  },
  function_environment_wrong: { severity: 'error', advice: SET_BACK },
  function_throttled: { severity: 'error', advice: 'Give the function concurrency: with 0 it never runs.' },
  function_loop_stopped: {
    severity: 'error',
    advice: 'Set the recursive loop configuration of the function to Allow: it wakes itself, and AWS would stop it.',
  },
  function_versions_differ: { severity: 'warning', advice: 'A deployment was broken off: deploy again, or roll back.' },
  schedule_off: { severity: 'error', advice: 'Enable the rule: the sweep runs by it.' },
  alarm_missing: {
    severity: 'error',
    advice: 'Nobody is told of what it watched: deploy once without alarms, and again with them.',
  },
  alarm_muted: { severity: 'warning', advice: 'Enable the actions of the alarm: it tells nobody.' },
  alarm_raised: { severity: 'warning', advice: 'Look the alarm up in docs/operations.md.' },
  // ---- what is stored
  unknown_layout: {
    severity: 'error',
    advice: 'A newer version wrote it: run that version, or a newer one; see docs/upgrading.md.',
  },
  head_missing: { severity: 'error', advice: 'Nothing can be appended to the partition: restore the State table.' },
  head_closed: { severity: 'error', advice: 'Nothing can be appended to the partition: restore the State table.' },
  head_behind_log: {
    severity: 'error',
    advice: 'The State table is older than the log: stop all traffic, then run the doctor with --repair --yes.',
  },
  log_behind_head: {
    severity: 'warning',
    advice:
      'The Log table is older than the State table: these records are gone; appends and readers go on behind them.',
  },
  append_abandoned: { severity: 'note', advice: 'The next reader settles it.' },
  position_beyond_log: {
    severity: 'warning',
    advice:
      'The group had read what is not there. Unless the log is told as behind its head, reset it: it would miss what is appended next.',
  },
  claim_beyond_log: {
    severity: 'warning',
    advice: 'Whoever repeats the request with its key stores the records anew.',
  },
  purge_overdue: { severity: 'warning', advice: 'Look into the log of the sweep: it should be through by now.' },
  purge_running: { severity: 'note', advice: 'The sweep is at it.' },
  sweep_stalled: { severity: 'error', advice: 'The sweep does not run: look at its schedule and its log.' },
  subscription_halted: { severity: 'warning', advice: 'See to the target, then resume the subscription.' },
  dead_letters: { severity: 'warning', advice: 'List them with vertebra dlq list, then redrive or delete them.' },
  object_orphaned: {
    severity: 'warning',
    advice: 'It costs storage and nothing else; delete it if these tables are the only ones that use the bucket.',
  },
  log_orphaned: {
    severity: 'warning',
    advice: 'Records of a topic that the State table does not know: it is older than the log, or another one.',
  },
} as const satisfies Record<string, Kind>;

export type FindingCode = keyof typeof FINDING_KINDS;

/** What is wrong, or worth knowing, about a backbone. */
export interface Finding {
  readonly code: FindingCode;
  /** What it is about: a table, a partition, a group, … */
  readonly subject: string;
  /** A sentence without its full stop. */
  readonly detail: string;
  /** For programs. */
  readonly data?: Readonly<Record<string, string | number | boolean>>;
  /** Whether the doctor can put it right, or has. */
  readonly repair?: 'possible' | 'done';
}

/** What was to be looked at, and could not be. */
export interface Unlooked {
  readonly subject: string;
  readonly reason: string;
}

/** Whether it has to be dealt with. */
export function isFinding({ code, repair }: Pick<Finding, 'code' | 'repair'>): boolean {
  return repair !== 'done' && severityOf(code) !== 'note';
}

export function severityOf(code: FindingCode): Severity {
  return FINDING_KINDS[code].severity;
}

/** One may not look there, or nobody answers: nothing is known about it. */
export class CannotLook extends Error {
  override readonly name = 'CannotLook';
}

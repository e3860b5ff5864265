/** What AWS says of the resources of a backbone, as far as the doctor asks. What an engine does not tell is absent. */

export interface TableFacts {
  readonly status: string;
  /** As `log S, last N`: partition key, then sort key. */
  readonly keys: string;
  readonly stream?: { readonly arn: string; readonly view: string };
  /** The attribute by which items expire; `null`: none do. */
  readonly expiresBy: string | null;
  /** Whether it can be restored to a point in time. */
  readonly isRecoverable?: boolean;
  readonly isProtected: boolean;
  /** Regions beside its own in which it is written. */
  readonly replicas: number;
}

export interface BucketFacts {
  /** Whether public access is blocked in all four ways. */
  readonly isPrivate?: boolean;
  /** Ids of rules by which objects expire. */
  readonly expiringRules?: readonly string[];
}

export interface QueueFacts {
  readonly arn: string;
  readonly visibilityTimeoutMs: number;
  readonly delayMs: number;
  /** Where a message goes that was received too often. */
  readonly deadLetters?: { readonly arn: string; readonly receivesMax: number };
  /** About. */
  readonly messages: number;
  /** Whether its policy lets in everybody, without a condition. */
  readonly isOpen: boolean;
  /** Whether its policy turns away what comes without TLS. */
  readonly requiresTls?: boolean;
}

export interface MappingFacts {
  readonly isEnabled: boolean;
  /** As `Disabled` or `Updating`. */
  readonly state: string;
  /** ARN of what it reads from. */
  readonly source: string;
  /** What became of the last call; absent before the first. */
  readonly lastResult?: string;
  /** Whether the function's answer names what failed. */
  readonly takesFailures: boolean;
}

export interface FunctionFacts {
  /** What is wrong with it, as AWS puts it. */
  readonly fault?: string;
  readonly environment: Readonly<Record<string, string>>;
  /** Most that runs at once; absent: no limit of its own. */
  readonly concurrency?: number;
  /** Whether it may wake itself. */
  readonly mayLoop?: boolean;
}

export interface AlarmFacts {
  readonly name: string;
  /** `OK`, `ALARM`, or `INSUFFICIENT_DATA`. */
  readonly state: string;
  readonly areActionsEnabled: boolean;
}

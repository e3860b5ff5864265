import { ACCOUNT, REGION } from '../aws/dynamodb/store-view.ts';
import type { Access } from './access.ts';
import type { Maker } from './deployment.ts';
import type { LambdaApi } from './lambda-api.ts';
import { arnOf } from './rights.ts';

interface RuleProperties {
  readonly ScheduleExpression?: string;
  readonly State?: string;
  readonly Targets?: readonly { readonly Arn: string; readonly Input?: string }[];
}

export interface ScheduleOptions {
  /** Told of a function that was not called, and why. */
  readonly onFailure: (functionName: string, error: unknown) => void;
  /** Time between two calls, ms, instead of what rules say. */
  readonly everyMs?: number | undefined;
}

const UNIT_MS: Readonly<Record<string, number>> = { minute: 60_000, hour: 3_600_000, day: 86_400_000 };

/** Calls functions by the clock, as the template's rules say. */
export class Schedule {
  readonly #lambda: LambdaApi;
  readonly #access: Access;
  readonly #options: ScheduleOptions;
  readonly #runs: (() => Promise<void>)[] = [];
  readonly #timers: NodeJS.Timeout[] = [];

  constructor(lambda: LambdaApi, access: Access, options: ScheduleOptions) {
    this.#lambda = lambda;
    this.#access = access;
    this.#options = options;
  }

  readonly maker: Maker = async ({ properties, nameOf }) => {
    const { ScheduleExpression, State = 'ENABLED', Targets = [] } = properties as RuleProperties;
    const name = nameOf(64);
    const arn = arnOf('events', `rule/${name}`);
    const [, count, unit] = /^rate\((\d+) (minute|hour|day)s?\)$/.exec(ScheduleExpression ?? '') ?? [];
    if (unit === undefined)
      throw new Error(`the rule ${name} is for ${ScheduleExpression}: rate(…) is all that is known`);
    if (State === 'ENABLED') {
      const run = () => this.#run(arn, Targets);
      this.#runs.push(run);
      const everyMs = this.#options.everyMs ?? Number(count) * UNIT_MS[unit]!;
      this.#timers.push(setInterval(() => void run(), everyMs).unref());
    }
    return { ref: name, attributes: { Arn: arn } };
  };

  /** Everything that the clock calls, now; resolves when it has ended. */
  async runNow(): Promise<void> {
    await Promise.all(this.#runs.map((run) => run()));
  }

  close(): void {
    for (const timer of this.#timers) clearInterval(timer);
  }

  async #run(rule: string, targets: NonNullable<RuleProperties['Targets']>): Promise<void> {
    await Promise.all(
      targets.map(async ({ Arn, Input }) => {
        const fn = this.#lambda.find(Arn)!;
        const right = { action: 'lambda:InvokeFunction', resource: fn.arn, facts: { 'aws:SourceArn': [rule] } };
        if (!this.#access.allowsService('events.amazonaws.com', right)) {
          this.#options.onFailure(fn.name, new Error(`it does not let the rule ${rule} call it`));
          return;
        }
        await this.#lambda.callOften(fn, Input ?? JSON.stringify(eventOf(rule)));
      }),
    );
  }
}

/** Source: AWS, "Using Lambda with Amazon EventBridge Scheduler", the event of a rule. */
function eventOf(rule: string): object {
  return {
    ...{ version: '0', id: crypto.randomUUID(), 'detail-type': 'Scheduled Event', source: 'aws.events' },
    ...{ account: ACCOUNT, time: new Date().toISOString(), region: REGION, resources: [rule], detail: {} },
  };
}

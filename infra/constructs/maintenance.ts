import { Duration } from 'aws-cdk-lib';
import { Rule, Schedule } from 'aws-cdk-lib/aws-events';
import { LambdaFunction as FunctionTarget } from 'aws-cdk-lib/aws-events-targets';
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';
import type { LogStorage } from './log-storage.ts';

export interface MaintenanceProps {
  readonly storage: LogStorage;
  readonly sweep: LambdaFunction;
}

const EVERY = Duration.minutes(1);

/** What is looked after by the clock. A run that fails is not repeated: the next one comes within the minute. */
export class Maintenance extends Construct {
  constructor(scope: Construct, id: string, { storage, sweep }: MaintenanceProps) {
    super(scope, id);
    storage.grantSweep(sweep);
    sweep.configureAsyncInvoke({ retryAttempts: 0, maxEventAge: EVERY });
    new Rule(this, 'EveryMinute', {
      description: 'Purges and other work that nobody waits for',
      schedule: Schedule.rate(EVERY),
      targets: [new FunctionTarget(sweep, { retryAttempts: 0, maxEventAge: EVERY })],
    });
  }
}

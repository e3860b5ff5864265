import { type CloudWatchClient, DescribeAlarmsCommand } from '@aws-sdk/client-cloudwatch';
import { DescribeRuleCommand, type EventBridgeClient } from '@aws-sdk/client-eventbridge';
import type { AlarmFacts } from '../domain/deployed-facts.ts';
import { lookFor } from './looks.ts';

/** Source: AWS, CloudWatch, "DescribeAlarms": names per call. */
const ALARMS_PER_CALL = 100;

/** Those of the alarms that are there. @throws {CannotLook} */
export async function alarmsNamed(
  cloudWatch: Pick<CloudWatchClient, 'send'>,
  names: readonly string[],
): Promise<AlarmFacts[]> {
  const found: AlarmFacts[] = [];
  for (let from = 0; from < names.length; from += ALARMS_PER_CALL) {
    const AlarmNames = names.slice(from, from + ALARMS_PER_CALL);
    const AlarmTypes: ('MetricAlarm' | 'CompositeAlarm')[] = ['MetricAlarm', 'CompositeAlarm'];
    const command = new DescribeAlarmsCommand({ AlarmNames, AlarmTypes, MaxRecords: ALARMS_PER_CALL });
    const page = await lookFor(cloudWatch.send(command));
    for (const alarm of [...(page?.MetricAlarms ?? []), ...(page?.CompositeAlarms ?? [])]) {
      found.push({
        name: alarm.AlarmName!,
        state: alarm.StateValue ?? 'UNKNOWN',
        areActionsEnabled: alarm.ActionsEnabled !== false,
      });
    }
  }
  return found;
}

/** Whether a rule calls what it is for; undefined when there is none of this name. @throws {CannotLook} */
export async function isRuleEnabled(
  eventBridge: Pick<EventBridgeClient, 'send'>,
  Name: string,
): Promise<boolean | undefined> {
  const rule = await lookFor(eventBridge.send(new DescribeRuleCommand({ Name })));
  return rule === undefined ? undefined : rule.State !== 'DISABLED';
}

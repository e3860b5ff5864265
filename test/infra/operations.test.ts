import { readFileSync } from 'node:fs';
import { App, Stack } from 'aws-cdk-lib';
import type { Template } from 'aws-cdk-lib/assertions';
import { RetentionDays } from 'aws-cdk-lib/aws-logs';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { AwsSolutionsChecks } from 'cdk-nag';
import { describe, expect, it } from 'vitest';
import { MEMORY_GB } from '../../bench/cost-model.ts';
import { EventBackbone } from '../../infra/constructs/event-backbone.ts';
import { functionName, type Resource, resourcesOf, synthesise, synthesised } from '../support/synthesise.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const ALARM_NAME = /^BackboneAlarms([A-Za-z]+)[0-9A-F]{8}$/;

/** A stack with everything on, and a topic that alarms tell. */
function watched(app: App): Stack {
  const stack = new Stack(app, 'Mine');
  const alarmTopic = new Topic(stack, 'Alarms', { enforceSSL: true });
  const backbone = new EventBackbone(stack, 'Backbone', {
    alarmTopic,
    dashboard: true,
    tracing: true,
    logRetention: RetentionDays.ONE_WEEK,
  });
  backbone.alarms!.watchSubscription('shipping', 120_000);
  return stack;
}

const { stack, template } = synthesised(watched, {});
const { template: usual } = synthesise();
const alarms = new Map(
  Object.entries(resourcesOf(template, 'AWS::CloudWatch::Alarm')).map(([id, { Properties }]) => [
    ALARM_NAME.exec(id)?.[1] ?? id,
    Properties,
  ]),
);
const page = readFileSync(new URL('../../docs/operations.md', import.meta.url), 'utf8');

describe('alarms', () => {
  it('are none unless somebody is told, and there is no dashboard unless it is asked for: both cost', () => {
    expect(resourcesOf(usual, 'AWS::CloudWatch::Alarm')).toEqual({});
    expect(resourcesOf(usual, 'AWS::CloudWatch::Dashboard')).toEqual({});
  });

  it('have each its entry in docs/operations.md, with what it means and what to do, and no entry is without its alarm', () => {
    const section = page.split(/^## /m).find((text) => text.startsWith('Alarms\n'))!;
    const entries = section.split(/^### /m).slice(1);
    const names = entries.map((entry) => entry.split('\n')[0]!);
    const fixed = [...alarms.keys()].filter((name) => !name.includes('shipping'));
    expect(names.sort()).toEqual(fixed.sort());
    for (const entry of entries) expect(entry, entry).toMatch(/^\w+\n\n_Means_: [\s\S]+\n\n_Do_: [\s\S]+/);
  });

  it('tell the topic when they begin and when they end, and where to read on', () => {
    for (const [name, properties] of alarms) {
      expect(properties.AlarmActions, name).toHaveLength(1);
      expect(properties.OKActions, name).toEqual(properties.AlarmActions);
      expect(properties.AlarmDescription, name).toMatch(/^.{10,} See \w+ in docs\/operations\.md\.$/);
    }
  });

  it('are at rest while nothing is told, but for those to which silence says something', () => {
    const others = [...alarms].filter(([, { TreatMissingData }]) => TreatMissingData !== 'notBreaching');
    expect(Object.fromEntries(others.map(([name, { TreatMissingData }]) => [name, TreatMissingData]))).toEqual({
      DeadLetters: 'ignore',
      SweepMissing: 'breaching',
    });
  });

  it('look at what the functions write under the names by which they write it', () => {
    const source = readFileSync(new URL('../../functions/observability.ts', import.meta.url), 'utf8');
    const services = new Set(Object.values(resourcesOf(template, 'AWS::Lambda::Function')).map(functionName));
    services.add('backbone');
    const own = [...alarms].filter(([, { Namespace }]) => Namespace === 'Mine/Backbone');
    expect(own.length).toBeGreaterThan(10);
    for (const [name, { MetricName, Dimensions }] of own) {
      expect(source, name).toContain(`'${MetricName}'`);
      const [service] = (Dimensions as { Name: string; Value: string }[]).filter(({ Name }) => Name === 'service');
      expect(services, name).toContain(service!.Value);
    }
  });

  it('tell of a key that has been parked for an hour, of whichever subscription', () => {
    expect(alarms.get('ParkedKeys')).toMatchObject({
      ...{ MetricName: 'OldestParkedKeyAge', Statistic: 'Maximum', Threshold: 3_600 },
      ...{
        ComparisonOperator: 'GreaterThanOrEqualToThreshold',
        EvaluationPeriods: 1,
        TreatMissingData: 'notBreaching',
      },
      Dimensions: [{ Name: 'service', Value: 'sweep' }],
    });
  });

  it('cost what docs/operations.md says, no more than $2.50 a month for all', () => {
    const fixed = [...alarms]
      .filter(([name]) => !name.includes('shipping'))
      .map(([, properties]) => looksAt(properties));
    const metrics = fixed.reduce((sum, count) => sum + count, 0);
    expect(metrics).toBeLessThanOrEqual(25);
    expect(page).toContain(`alarms: ${fixed.length}, of which two look at two metrics`);
    expect(page).toContain(`$${(metrics / 10).toFixed(2)} for all`);
  });

  it('of a single subscription see it alone, and refuse what is looked at too seldom', () => {
    const [, shipping] = [...alarms].find(([name]) => name.includes('shipping'))!;
    expect(shipping).toMatchObject({
      MetricName: 'ConsumerLagAge',
      Threshold: 120,
      Dimensions: [
        { Name: 'service', Value: 'sweep' },
        { Name: 'subscription', Value: 'shipping' },
      ],
    });
    const context = { 'aws:cdk:bundling-stacks': [] };
    const other = new Stack(new App({ outdir: temporaryFolder(), context, analyticsReporting: false }));
    const { alarms: own } = new EventBackbone(other, 'B', { alarmTopic: new Topic(other, 'T') });
    expect(() => own!.watchSubscription('x', 1_000)).toThrow(/60000 ms or more/);
  });
});

/** Metrics for which an alarm is paid. */
function looksAt({ Metrics }: Resource['Properties']): number {
  if (Metrics === undefined) return 1;
  return (Metrics as { MetricStat?: object }[]).filter(({ MetricStat }) => MetricStat !== undefined).length;
}

describe('a backbone with everything on', () => {
  it('has the memory that docs/cost.md reckons with', () => {
    const memory = Object.values(resourcesOf(template, 'AWS::Lambda::Function')).map((fn) => [
      functionName(fn),
      (fn.Properties.MemorySize as number) / 1_024,
    ]);
    expect(Object.fromEntries(memory)).toMatchObject({
      ...{ produce: MEMORY_GB.waitedFor, fetch: MEMORY_GB.waitedFor, groups: MEMORY_GB.waitedFor },
      ...{ deliver: MEMORY_GB.waitedFor, dispatch: MEMORY_GB.background, sweep: MEMORY_GB.background },
    });
  });

  it('passes the AwsSolutions rules of cdk-nag', () => {
    expect(new AwsSolutionsChecks().validateScope(stack)).toMatchObject({ success: true, violations: [] });
  });

  it('is traced, all but the sweep, whose calls say nothing', () => {
    const functions = Object.values(resourcesOf(template, 'AWS::Lambda::Function'));
    const untraced = functions.filter(({ Properties }) => Properties.TracingConfig === undefined).map(functionName);
    expect(untraced).toEqual(['sweep']);
    for (const { Properties } of Object.values(resourcesOf(usual, 'AWS::Lambda::Function'))) {
      expect(Properties.TracingConfig).toBeUndefined();
    }
  });

  it('keeps its logs for a month, or for as long as it is told to', () => {
    const days = (of: Template) =>
      Object.values(resourcesOf(of, 'AWS::Logs::LogGroup')).map(({ Properties }) => Properties.RetentionInDays);
    expect(new Set(days(usual))).toEqual(new Set([30]));
    expect(new Set(days(template))).toEqual(new Set([7]));
  });

  it('shows on its dashboard what the functions write, and every subscription that is behind', () => {
    const [dashboard] = Object.values(resourcesOf(template, 'AWS::CloudWatch::Dashboard'));
    const body = JSON.stringify(dashboard!.Properties.DashboardBody);
    expect(body).toContain('service,subscription} MetricName=');
    for (const name of ['RecordsAppended', 'ConsumerLagAge', 'OldestParkedKeyAge', 'WriteThrottleEvents'])
      expect(body).toContain(name);
  });
});

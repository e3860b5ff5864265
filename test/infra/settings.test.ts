import { expect, it } from 'vitest';
import { readSettings } from '../../infra/settings.ts';

const read = (context: Record<string, unknown>) => readSettings((name) => context[name]);

it('keeps the data, asks for IAM and allows no foreign origin unless told otherwise', () => {
  expect(read({})).toEqual({
    stackName: 'Vertebra',
    retainData: true,
    auth: 'iam',
    corsOrigins: [],
    logLevel: 'INFO',
    logRetention: 30,
    tracing: false,
    dashboard: false,
    slowConcurrency: 50,
  });
});

it('reads settings as the command line gives them, which is text', () => {
  expect(
    read({
      stackName: 'Orders',
      slowConcurrency: '5',
      logRetentionDays: '7',
      tracing: 'true',
      alarmTopicArn: 'arn:aws:sns:eu-central-1:111122223333:alarms',
      retainData: 'false',
      corsOrigins: 'https://a.example, https://b.example',
    }),
  ).toMatchObject({
    stackName: 'Orders',
    slowConcurrency: 5,
    logRetention: 7,
    tracing: true,
    alarmTopicArn: 'arn:aws:sns:eu-central-1:111122223333:alarms',
    retainData: false,
    corsOrigins: ['https://a.example', 'https://b.example'],
  });
});

it('reads settings as a context file gives them, which has types', () => {
  expect(read({ retainData: false, corsOrigins: ['https://a.example'], logLevel: 'DEBUG' })).toMatchObject({
    retainData: false,
    corsOrigins: ['https://a.example'],
    logLevel: 'DEBUG',
  });
});

it.each([
  [{ auth: 'none' }, "The setting 'auth' must be 'iam'; it is \"none\"."],
  [{ retainData: 'no' }, 'The setting \'retainData\' must be true or false; it is "no".'],
  [{ slowConcurrency: 'all' }, 'The setting \'slowConcurrency\' must be a whole number; it is "all".'],
  [{ slowConcurrency: -1 }, "The setting 'slowConcurrency' must be a whole number; it is -1."],
  [
    { logRetentionDays: 8 },
    /^The setting 'logRetentionDays' must be a number of days that CloudWatch knows.*it is 8\.$/,
  ],
  [{ alarmTopicArn: 'alarms' }, 'The setting \'alarmTopicArn\' must be the ARN of an SNS topic; it is "alarms".'],
  [{ dashboard: 1 }, "The setting 'dashboard' must be true or false; it is 1."],
  [{ stackName: '' }, 'The setting \'stackName\' must be a name; it is "".'],
  [{ corsOrigins: 7 }, "The setting 'corsOrigins' must be a list of texts, or one text with commas; it is 7."],
  [{ logLevel: 'loud' }, /^The setting 'logLevel' must be 'TRACE' or .* or 'SILENT'; it is "loud"\.$/],
])('refuses %j with a sentence', (context, sentence) => {
  expect(() => read(context)).toThrow(sentence);
});

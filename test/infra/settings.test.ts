import { expect, it } from 'vitest';
import { readSettings } from '../../infra/settings.ts';

const read = (context: Record<string, unknown>) => readSettings((name) => context[name]);

it('keeps the data, asks for IAM and allows no foreign origin unless told otherwise', () => {
  expect(read({})).toEqual({
    stackName: 'Vertebra',
    retainData: true,
    auth: 'iam',
    functionUrl: false,
    corsOrigins: [],
    logLevel: 'INFO',
    logRetention: 30,
    tracing: false,
    dashboard: false,
    concurrency: {},
  });
});

it('reads settings as the command line gives them, which is text', () => {
  expect(
    read({
      stackName: 'Orders',
      slowConcurrency: '5',
      produceConcurrency: '20',
      spillAboveBytes: '8192',
      auth: 'jwt',
      jwtIssuer: 'https://login.example',
      jwtAudience: 'web,app',
      encryptionKeyArn: 'arn:aws:kms:eu-central-1:111122223333:key/0a1b',
      logRetentionDays: '7',
      tracing: 'true',
      alarmTopicArn: 'arn:aws:sns:eu-central-1:111122223333:alarms',
      retainData: 'false',
      corsOrigins: 'https://a.example, https://b.example',
    }),
  ).toMatchObject({
    stackName: 'Orders',
    concurrency: { slow: 5, produce: 20 },
    spillAboveBytes: 8_192,
    auth: 'jwt',
    jwt: { issuer: 'https://login.example', audience: ['web', 'app'] },
    encryptionKeyArn: 'arn:aws:kms:eu-central-1:111122223333:key/0a1b',
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
  [{ auth: 'none' }, "The setting 'auth' must be 'iam' or 'apiKey' or 'jwt'; it is \"none\"."],
  [{ retainData: 'no' }, 'The setting \'retainData\' must be true or false; it is "no".'],
  [{ slowConcurrency: 'all' }, 'The setting \'slowConcurrency\' must be a whole number above 0; it is "all".'],
  [{ slowConcurrency: -1 }, "The setting 'slowConcurrency' must be a whole number above 0; it is -1."],
  [
    { logRetentionDays: 8 },
    /^The setting 'logRetentionDays' must be a number of days that CloudWatch knows.*it is 8\.$/,
  ],
  [{ alarmTopicArn: 'alarms' }, 'The setting \'alarmTopicArn\' must be the ARN of an SNS topic; it is "alarms".'],
  [
    { encryptionKeyArn: 'alias/mine' },
    'The setting \'encryptionKeyArn\' must be the ARN of a KMS key; it is "alias/mine".',
  ],
  [{ jwtIssuer: 'https://login.example' }, /^The setting 'jwtAudience' must be a list of texts/],
  [{ spillAboveBytes: '1e3' }, 'The setting \'spillAboveBytes\' must be a whole number above 0; it is "1e3".'],
  [{ dashboard: 1 }, "The setting 'dashboard' must be true or false; it is 1."],
  [{ stackName: '' }, 'The setting \'stackName\' must be a text; it is "".'],
  [{ corsOrigins: 7 }, "The setting 'corsOrigins' must be a list of texts, or one text with commas; it is 7."],
  [{ logLevel: 'loud' }, /^The setting 'logLevel' must be 'TRACE' or .* or 'SILENT'; it is "loud"\.$/],
])('refuses %j with a sentence', (context, sentence) => {
  expect(() => read(context)).toThrow(sentence);
});

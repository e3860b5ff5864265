import { describe, expect, it } from 'vitest';
import { Access } from '../../../local/assembly/access.ts';
import type { Statement } from '../../../local/assembly/policy.ts';

const ROLE = 'arn:aws:iam::000000000000:role/reader';
const CALLER = { role: ROLE, function: 'reader' };
const allow = (Action: string | string[], Resource: string | string[], more: Partial<Statement> = {}): Statement => ({
  ...{ Effect: 'Allow', Action, Resource },
  ...more,
});
const may = (access: Access, action: string, resource: string, facts?: Record<string, string[]>) =>
  access.allows(CALLER, { action, resource, ...(facts && { facts }) });

describe('a call', () => {
  it('is allowed by what names its action and its resource, and by nothing else', () => {
    const access = new Access();
    access.addPolicy(ROLE, [allow(['s3:GetObject', 'sqs:Send*'], ['arn:bucket/dead/*', 'arn:queue'])]);
    expect(may(access, 's3:GetObject', 'arn:bucket/dead/1/2')).toBe(true);
    expect(may(access, 'sqs:SendMessage', 'arn:queue')).toBe(true);
    expect(may(access, 's3:PutObject', 'arn:bucket/dead/1')).toBe(false);
    expect(may(access, 's3:GetObject', 'arn:bucket/live/1')).toBe(false);
    expect(
      access.allows({ ...CALLER, role: `${ROLE}s` }, { action: 's3:GetObject', resource: 'arn:bucket/dead/1' }),
    ).toBe(false);
    expect(access.denials.map(({ right }) => [right.action, right.resource])).toEqual([
      ['s3:PutObject', 'arn:bucket/dead/1'],
      ['s3:GetObject', 'arn:bucket/live/1'],
      ['s3:GetObject', 'arn:bucket/dead/1'],
    ]);
  });

  it('is held to its conditions: each key that it leads to must be one of those named', () => {
    const access = new Access();
    const Condition = { 'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': ['uploads#*'] } };
    access.addPolicy(ROLE, [allow('dynamodb:DeleteItem', 'arn:table', { Condition })]);
    const leads = (...keys: string[]) =>
      may(access, 'dynamodb:DeleteItem', 'arn:table', { 'dynamodb:LeadingKeys': keys });
    expect(leads('uploads#1', 'uploads#2')).toBe(true);
    expect(leads('uploads#1', 'topics')).toBe(false);
    // As in IAM: of nothing, all is true. A Scan would pass.
    expect(may(access, 'dynamodb:DeleteItem', 'arn:table')).toBe(true);
  });

  it('fails a condition on what it does not tell, but for those that say so', () => {
    const access = new Access();
    access.addPolicy(ROLE, [
      allow('a:One', '*', { Condition: { StringEquals: { 'aws:tag': 'x' } } }),
      allow('a:Two', '*', { Condition: { StringEqualsIfExists: { 'aws:tag': 'x' } } }),
      allow('a:Three', '*', { Condition: { Null: { 'aws:tag': 'true' } } }),
    ]);
    expect(['One', 'Two', 'Three'].map((verb) => may(access, `a:${verb}`, 'arn'))).toEqual([false, true, true]);
    expect(() => {
      access.addPolicy(ROLE, [allow('a:Four', '*', { Condition: { IpAddress: { 'aws:SourceIp': '10.0.0.0/8' } } })]);
      may(access, 'a:Four', 'arn', { 'aws:SourceIp': ['10.0.0.1'] });
    }).toThrow('the condition IpAddress, which is not known here');
  });

  it('is allowed by its resource too, and refused by either', () => {
    const access = new Access();
    access.addPolicy(ROLE, [allow('sqs:*', 'arn:closed'), { ...allow('sqs:DeleteQueue', '*'), Effect: 'Deny' }]);
    access.addResourcePolicy('arn:open', [allow('sqs:SendMessage', 'arn:open', { Principal: { AWS: ROLE } })]);
    access.addResourcePolicy('arn:closed', [
      { Effect: 'Deny', Action: 'sqs:SendMessage', Principal: '*' },
      {
        Effect: 'Deny',
        Action: 'sqs:*',
        Principal: { AWS: '*' },
        Condition: { Bool: { 'aws:SecureTransport': 'false' } },
      },
    ]);
    expect(may(access, 'sqs:SendMessage', 'arn:open')).toBe(true);
    expect(may(access, 'sqs:ReceiveMessage', 'arn:open')).toBe(false);
    expect(may(access, 'sqs:SendMessage', 'arn:closed')).toBe(false);
    expect(may(access, 'sqs:ReceiveMessage', 'arn:closed')).toBe(true);
    expect(may(access, 'sqs:DeleteQueue', 'arn:closed')).toBe(false);
  });

  it('by a service is allowed where the resource names it, and whence it comes', () => {
    const access = new Access();
    const Condition = { ArnLike: { 'aws:SourceArn': 'arn:api/*/POST/records' } };
    const Principal = { Service: 'apigateway.amazonaws.com' };
    access.addResourcePolicy('arn:fn', [{ Effect: 'Allow', Action: 'lambda:InvokeFunction', Principal, Condition }]);
    const from = (source: string) => ({
      ...{ action: 'lambda:InvokeFunction', resource: 'arn:fn' },
      facts: { 'aws:SourceArn': [source] },
    });
    expect(access.allowsService('apigateway.amazonaws.com', from('arn:api/$default/POST/records'))).toBe(true);
    expect(access.allowsService('apigateway.amazonaws.com', from('arn:api/$default/GET/records'))).toBe(false);
    expect(access.allowsService('events.amazonaws.com', from('arn:api/$default/POST/records'))).toBe(false);
  });
});

describe('a grant', () => {
  const unneeded = (access: Access) =>
    access.grants.filter(({ needed }) => !needed).map(({ action, resource }) => `${action} ${resource}`);

  it('is needed once a call was allowed by it alone', () => {
    const access = new Access();
    access.addPolicy(ROLE, [allow(['s3:GetObject', 's3:PutObject'], 'arn:bucket/*')]);
    may(access, 's3:GetObject', 'arn:bucket/1');
    expect(unneeded(access)).toEqual(['s3:PutObject arn:bucket/*']);
    expect(access.grants[0]!.usedBy).toEqual(new Set(['reader']));
  });

  it('is not needed where another covers all that it was used for', () => {
    const access = new Access();
    access.addPolicy(ROLE, [allow('s3:GetObject', ['arn:bucket/*', 'arn:bucket/dead/*'])]);
    may(access, 's3:GetObject', 'arn:bucket/dead/1');
    expect(unneeded(access)).toHaveLength(2);
    may(access, 's3:GetObject', 'arn:bucket/1');
    expect(unneeded(access)).toEqual(['s3:GetObject arn:bucket/dead/*']);
  });
});

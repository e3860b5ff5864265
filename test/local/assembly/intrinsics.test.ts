import { expect, it } from 'vitest';
import { matchesPattern } from '../../../local/assembly/filter-pattern.ts';
import { holds, type Names, resolveValue } from '../../../local/assembly/intrinsics.ts';

const NAMES: Names = {
  stackName: 'Shop',
  ref: async (id) => `ref-${id}`,
  attribute: async (id, name) => `${id}.${name}`,
  imported: async (name) => `imported ${name}`,
  output: async (stack, name) => `${name} of ${stack}`,
  condition: (name) => ({ 'Fn::Equals': [name, 'Yes'] }),
};

/** A placeholder of `Fn::Sub`. */
const to = (name: string) => `\${${name}}`;

it.each([
  [{ Ref: 'Table' }, 'ref-Table'],
  [{ Ref: 'AWS::Region' }, 'us-east-1'],
  [{ 'Fn::GetAtt': ['Table', 'Arn'] }, 'Table.Arn'],
  [{ 'Fn::GetAtt': 'Nested.Outputs.Url' }, 'Nested.Outputs.Url'],
  [{ 'Fn::Join': ['/', ['a', { Ref: 'B' }]] }, 'a/ref-B'],
  [{ 'Fn::Select': [1, { 'Fn::Split': ['://', { 'Fn::Sub': `https://${to('Api')}.test` }] }] }, 'ref-Api.test'],
  [
    { 'Fn::Sub': [[to('A'), to('B.Arn'), to('!C'), to('AWS::StackName')].join(' '), { A: { Ref: 'X' } }] },
    `ref-X B.Arn ${to('C')} Shop`,
  ],
  [{ 'Fn::ImportValue': { 'Fn::Sub': `${to('AWS::StackName')}-url` } }, 'imported Shop-url'],
  [{ 'Fn::GetStackOutput': { StackName: 'Other', OutputName: 'Url' } }, 'Url of Other'],
  [{ 'Fn::If': ['Yes', 'then', 'else'] }, 'then'],
  [
    { kept: 1, dropped: { Ref: 'AWS::NoValue' }, list: [{ Ref: 'AWS::NoValue' }, true] },
    { kept: 1, list: [true] },
  ],
])('%j is resolved', async (value, expected) => {
  expect(await resolveValue(value, NAMES)).toEqual(expected);
});

it('refuses a function that it does not know, by its name', async () => {
  await expect(resolveValue({ a: { 'Fn::Cidr': [] } }, NAMES)).rejects.toThrow('Fn::Cidr');
  await expect(holds({ 'Fn::Contains': [] }, NAMES)).rejects.toThrow('Fn::Contains');
});

it('combines conditions', async () => {
  const [yes, no] = [{ Condition: 'Yes' }, { Condition: 'No' }];
  expect(await holds({ 'Fn::And': [yes, { 'Fn::Not': [no] }] }, NAMES)).toBe(true);
  expect(await holds({ 'Fn::Or': [no, { 'Fn::Not': [yes] }] }, NAMES)).toBe(false);
});

it('filters events by the values that are listed, and refuses a filter that says more', () => {
  const pattern = { eventName: ['REMOVE'], dynamodb: { Keys: { log: { S: ['a', 'b'] } } } };
  const event = (eventName: string, log: string) => ({ eventName, dynamodb: { Keys: { log: { S: log } } } });
  expect(matchesPattern(event('REMOVE', 'b'), pattern)).toBe(true);
  expect(matchesPattern(event('INSERT', 'b'), pattern)).toBe(false);
  expect(matchesPattern(event('REMOVE', 'c'), pattern)).toBe(false);
  expect(() => matchesPattern({ a: 'x' }, { a: [{ prefix: 'x' }] })).toThrow('not known here');
});

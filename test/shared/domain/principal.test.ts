import { describe, expect, it } from 'vitest';
import { grantedPrincipal, principalOfArn, principalOfSubject } from '../../../shared/domain/principal.ts';

const A = '111122223333';

describe('who an ARN stands for', () => {
  it.each([
    [`arn:aws:sts::${A}:assumed-role/Shop/i-0123`, `role:${A}:Shop`],
    [`arn:aws:sts::${A}:assumed-role/Shop/a@b.example,x=1`, `role:${A}:Shop`],
    [`arn:aws:sts::${A}:assumed-role/AWSReservedSSO_Admin_0123/bob`, `role:${A}:AWSReservedSSO_Admin_0123`],
    [`arn:aws:iam::${A}:role/Shop`, `role:${A}:Shop`],
    [`arn:aws:iam::${A}:role/service-role/deep/Shop`, `role:${A}:Shop`],
    [`arn:aws-cn:iam::${A}:role/Shop`, `role:${A}:Shop`],
    [`arn:aws-us-gov:sts::${A}:assumed-role/Shop/x`, `role:${A}:Shop`],
    [`arn:aws:iam::${A}:user/alice`, `user:${A}:alice`],
    [`arn:aws:iam::${A}:user/division/team/alice`, `user:${A}:alice`],
    [`arn:aws:sts::${A}:federated-user/bob`, `federated:${A}:bob`],
    [`arn:aws:iam::${A}:root`, `root:${A}`],
  ])('%s is %s', (arn, principal) => {
    expect(principalOfArn(arn)).toBe(principal);
    expect(grantedPrincipal(arn)).toBe(principal);
    expect(grantedPrincipal(principal)).toBe(principal);
  });

  it.each([
    '',
    '*',
    `arn:aws:iam::${A}:role/*`,
    `arn:aws:iam::${A}:role/`,
    `arn:aws:iam::*:role/Shop`,
    `arn:aws:iam::${A}:group/Shop`,
    `arn:aws:iam::${A}:role/Shop\n`,
    `arn:aws:iam::1${A}:role/Shop`,
    `arn:aws:sts::${A}:assumed-role/Shop/a/b`,
    `arn:aws:lambda:eu-central-1:${A}:function:shop`,
    `role:${A}:`,
    `role:${A}:a/b`,
    'key:01J00000000000000000000000',
    'anybody',
  ])('%j is nobody', (text) => {
    expect(principalOfArn(text)).toBeUndefined();
    expect(grantedPrincipal(text)).toBeUndefined();
  });
});

it('a subject is known by itself, and never as anybody else', () => {
  expect(principalOfSubject('auth0|7')).toBe('sub:auth0|7');
  expect(principalOfSubject(`role:${A}:Shop`)).toBe(`sub:role:${A}:Shop`);
  expect(grantedPrincipal('sub:auth0|7')).toBe('sub:auth0|7');
  expect(grantedPrincipal('sub:')).toBeUndefined();
});

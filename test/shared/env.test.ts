import { expect, it } from 'vitest';
import { readAccess } from '../../shared/env.ts';

it('an environment that says nothing of callers asks nobody who calls', () => {
  expect(readAccess({})).toEqual({ auth: 'none', storedGrants: false });
  expect(readAccess({ VERTEBRA_AUTH: '', VERTEBRA_GRANTS: '' })).toEqual({ auth: 'none', storedGrants: false });
});

it('an environment says how callers are known, and whether there are grants', () => {
  for (const auth of ['none', 'iam', 'apiKey', 'jwt']) {
    expect(readAccess({ VERTEBRA_AUTH: auth })).toEqual({ auth, storedGrants: false });
  }
  expect(readAccess({ VERTEBRA_AUTH: 'iam', VERTEBRA_GRANTS: 'stored' })).toEqual({ auth: 'iam', storedGrants: true });
});

it('an environment that says it wrongly is refused: nothing is left open by a mistake', () => {
  for (const auth of ['IAM', 'apikey', 'open', 'toString']) {
    expect(() => readAccess({ VERTEBRA_AUTH: auth })).toThrow(`VERTEBRA_AUTH must be one of none, iam, apiKey, jwt`);
  }
  expect(() => readAccess({ VERTEBRA_AUTH: 'iam', VERTEBRA_GRANTS: 'yes' })).toThrow(
    "VERTEBRA_GRANTS must be 'stored'",
  );
});

import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { FINDING_KINDS } from '../../shared/domain/finding.ts';

const page = readFileSync('docs/doctor.md', 'utf8');

it('the page tells of everything that the doctor can find, and how bad it is', () => {
  const rows = [...page.matchAll(/^\| `(\w+)`\s+\| (error|warning|note)\s+\|/gm)].map(([, code, severity]) => [
    code,
    severity,
  ]);
  expect(rows).toEqual(Object.entries(FINDING_KINDS).map(([code, { severity }]) => [code, severity]));
});

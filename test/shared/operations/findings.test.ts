import { describe, expect, it } from 'vitest';
import { FINDINGS_PER_CODE_MAX } from '../../../shared/domain/doctor-limits.ts';
import { UnknownLayout } from '../../../shared/domain/errors.ts';
import { CannotLook, type Finding } from '../../../shared/domain/finding.ts';
import { Findings } from '../../../shared/operations/findings.ts';

const finding = (i: number, code: Finding['code'] = 'dead_letters'): Finding => ({ code, subject: `${i}`, detail: '' });

describe('findings', () => {
  it('are kept, the first hundred of each kind; of others it is told how many there are', () => {
    const findings = new Findings();
    for (let i = 0; i < FINDINGS_PER_CODE_MAX + 7; i++) findings.add(finding(i));
    findings.add(finding(0, 'recovery_off'));
    const report = findings.report();
    expect(report.findings).toHaveLength(FINDINGS_PER_CODE_MAX + 1);
    expect(report).toMatchObject({ more: { dead_letters: 7 }, isHealthy: false });
  });

  it('are none where there are only notes, and what was repaired', () => {
    const findings = new Findings();
    findings.add(finding(0, 'purge_running'), { ...finding(1, 'head_behind_log'), repair: 'done' });
    expect(findings.report().isHealthy).toBe(true);
    findings.add({ ...finding(1, 'head_behind_log'), repair: 'possible' });
    expect(findings.report().isHealthy).toBe(false);
  });

  it('do not end where something cannot be looked at: that is told, and it is not healthy', async () => {
    const findings = new Findings();
    const failing = (error: Error) => () => Promise.reject(error);
    await findings.attempt('alarms', failing(new CannotLook('not allowed')));
    await findings.attempt('topics', failing(new Error('gone wrong')));
    await findings.attempt('head', failing(new UnknownLayout('head#x head', '2', '1')));
    expect(findings.report()).toMatchObject({
      unlooked: [
        { subject: 'alarms', reason: 'not allowed' },
        { subject: 'topics', reason: 'Error: gone wrong' },
      ],
      findings: [{ code: 'unknown_layout', subject: 'head' }],
      isHealthy: false,
    });
  });

  it('tell what was looked at, as it grows', () => {
    const told: [string, number][] = [];
    const findings = new Findings((what, count) => told.push([what, count]));
    findings.looked('topics');
    findings.looked('objects', 1_000);
    findings.looked('objects', 7);
    expect(told).toEqual([
      ['topics', 1],
      ['objects', 1_000],
      ['objects', 1_007],
    ]);
    expect(findings.report().looked).toEqual({ topics: 1, objects: 1_007 });
  });
});

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type DoctorReport, exitCodeOf, reportJson, reportLines } from '../../cli/doctor-report.ts';
import { openBackboneServer } from '../../local/backbone-server.ts';
import { openDataFolder } from '../../local/data-folder.ts';
import type { Finding } from '../../shared/domain/finding.ts';
import { command } from '../support/command-line.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/** A data folder in which a backbone has worked. */
async function workedIn(): Promise<string> {
  const data = join(temporaryFolder(), 'data');
  const folder = openDataFolder(data);
  const quiet = { onRecords: () => {}, onExchange: () => {}, onFailure: () => {} };
  const server = await openBackboneServer({ port: 0, path: folder.enginePath, ...quiet });
  await command(server.url, ['topics', 'create', 'orders', '--partitions', '1']);
  await command(server.url, ['produce', 'orders'], { input: '1\n2\n' });
  await server.close(1_000);
  folder.release();
  return data;
}

const doctor = (...args: string[]) => command('http://127.0.0.1:9', ['doctor', ...args]);

describe('vertebra doctor', () => {
  it('looks at a data folder as it lies there, again and again', async () => {
    const data = await workedIn();
    for (const args of [['--deep'], ['--repair', '--yes']]) {
      const { code, out, err } = await doctor('--data', data, ...args);
      expect({ code, err }).toEqual({ code: 0, err: '' });
      expect(out).toMatch(/^Looked at: resources 5, topics 1, partitions 1.*\nHealthy\.\n$/);
    }
    const { code, out } = await doctor('--data', data, '--json');
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ isHealthy: true, findings: [], unlooked: [], looked: { topics: 1 } });
  });

  it('ends with 2 where it cannot look: no folder, or one that is in use', async () => {
    const data = join(temporaryFolder(), 'data');
    mkdirSync(data);
    expect(await doctor('--data', data)).toMatchObject({ code: 2, err: expect.stringContaining('is no data folder') });
    const folder = openDataFolder(data);
    expect(await doctor('--data', data)).toMatchObject({ code: 2, err: expect.stringContaining('is in use') });
    folder.release();
    // Opened, and nothing more: there are no tables in it yet.
    const { code, out } = await doctor('--data', data, '--json');
    expect(code).toBe(1);
    const missing = JSON.parse(out).findings.map(({ code, subject }: Finding) => `${code}: ${subject}`);
    expect(missing).toEqual(['table log', 'table state', 'bucket payloads'].map((part) => `resource_missing: ${part}`));
  });

  it.each([
    [[], 'say where to look'],
    [['--stack', 'Vertebra', '--data', 'x'], 'say where to look'],
    [['--log-table', 'log'], '--log-table, --state-table and --bucket go together'],
    [['--data', 'x', '--yes'], '--yes goes with --repair'],
    [['--stack', 'Vertebra', '--limit', '0'], 'It must be a whole number'],
  ])('called with %j is refused', async (args, sentence) => {
    expect(await doctor(...args)).toMatchObject({ code: 2, out: '', err: expect.stringContaining(sentence) });
  });
});

describe('its report', () => {
  const error: Finding = { code: 'head_behind_log', subject: 'partition a-0', detail: 'x', repair: 'possible' };
  const warning: Finding = { code: 'dead_letters', subject: 'group g', detail: 'it has 3 dead letters' };
  const note: Finding = { code: 'purge_running', subject: 'topic t', detail: 'since 3 min' };
  const report = (given: Partial<DoctorReport>): DoctorReport => ({
    ...{ findings: [], more: {}, unlooked: [], looked: { partitions: 1_200 }, isHealthy: false },
    ...given,
  });
  const unlooked = [{ subject: 'alarms', reason: 'not allowed' }];
  const dry = { repair: true, yes: false };

  it('ends with 1 for what was found, else with 2 for what was not looked at; notes and repairs are no findings', () => {
    expect(exitCodeOf(report({ findings: [error], unlooked }))).toBe(1);
    expect(exitCodeOf(report({ findings: [note], unlooked }))).toBe(2);
    expect(exitCodeOf(report({ findings: [note, { ...error, repair: 'done' }] }))).toBe(0);
  });

  it('tells the worst first, what to do about each kind once, and what it could not see', () => {
    const lines = reportLines(report({ findings: [note, warning, error], more: { dead_letters: 7 }, unlooked }), dry);
    expect(lines).toEqual([
      'SEVERITY  FOUND            WHERE          WHAT',
      'error     head_behind_log  partition a-0  x',
      'warning   dead_letters     group g        it has 3 dead letters',
      'note      purge_running    topic t        since 3 min',
      '… and 7 more of dead_letters',
      '',
      expect.stringMatching(/^head_behind_log: .* stop all traffic, then run the doctor with --repair --yes\.$/),
      expect.stringMatching(/^dead_letters: /),
      '',
      'Not looked at: alarms: not allowed',
      'Looked at: partitions 1,200.',
      'Nothing was changed. Stop all traffic, then run it again with --yes.',
    ]);
  });

  it('as JSON has severity and advice beside each finding', () => {
    const { findings } = JSON.parse(reportJson(report({ findings: [warning] })));
    expect(findings).toMatchObject([{ ...warning, severity: 'warning', advice: expect.stringContaining('redrive') }]);
  });
});

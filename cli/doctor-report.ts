import type { examineAws } from '../functions/doctor.ts';
import { FINDING_KINDS, type Finding, type FindingCode, isFinding, severityOf } from '../shared/domain/finding.ts';
import { EXIT, type ExitCode } from './exit-codes.ts';
import { table, thousands } from './table.ts';
import { plain } from './terminal.ts';

export type DoctorReport = Awaited<ReturnType<typeof examineAws>>;

/** What was found counts for more than what could not be looked at. */
export function exitCodeOf({ findings, unlooked }: DoctorReport): ExitCode {
  if (findings.some(isFinding)) return EXIT.failed;
  return unlooked.length > 0 ? EXIT.usage : EXIT.done;
}

/** One object, each finding with what the tables of the text say of its code. */
export function reportJson({ findings, ...report }: DoctorReport): string {
  const told = findings.map((finding) => ({
    ...{ severity: severityOf(finding.code), ...finding },
    advice: FINDING_KINDS[finding.code].advice,
  }));
  return JSON.stringify({ ...report, findings: told });
}

/** For people: what was found, worst first, what to do, and what was looked at. */
export function reportLines(
  report: DoctorReport,
  { repair, yes }: { readonly repair: boolean; readonly yes: boolean },
): string[] {
  const { findings, more, unlooked, looked, isHealthy } = report;
  const sorted = findings.toSorted((a, b) => rankOf(a) - rankOf(b));
  const lines: string[] = [];
  if (sorted.length > 0) {
    const columns = [
      {
        title: 'SEVERITY',
        of: (finding: Finding) => (finding.repair === 'done' ? 'repaired' : severityOf(finding.code)),
      },
      { title: 'FOUND', of: ({ code }: Finding) => code },
      { title: 'WHERE', of: ({ subject }: Finding) => subject },
      { title: 'WHAT', of: ({ detail }: Finding) => detail },
    ];
    lines.push(...table(sorted, columns));
    for (const [code, count] of Object.entries(more)) lines.push(`… and ${thousands(count)} more of ${code}`);
    lines.push('', ...[...new Set(sorted.filter(isFinding).map(({ code }) => code))].map(adviceOn), '');
  }
  for (const { subject, reason } of unlooked) lines.push(`Not looked at: ${plain(subject)}: ${plain(reason)}`);
  const counts = Object.entries(looked).map(([what, count]) => `${what} ${thousands(count)}`);
  lines.push(`Looked at: ${counts.join(', ') || 'nothing'}.`);
  if (repair && !yes && findings.some((finding) => finding.repair === 'possible')) {
    lines.push('Nothing was changed. Stop all traffic, then run it again with --yes.');
  }
  if (isHealthy) lines.push('Healthy.');
  return lines;
}

const RANKS = { error: 0, warning: 1, note: 2 } as const;

function rankOf(finding: Finding): number {
  return finding.repair === 'done' ? 3 : RANKS[severityOf(finding.code)];
}

function adviceOn(code: FindingCode): string {
  return `${code}: ${FINDING_KINDS[code].advice}`;
}

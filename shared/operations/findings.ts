import { FINDINGS_PER_CODE_MAX } from '../domain/doctor-limits.ts';
import { UnknownLayout } from '../domain/errors.ts';
import { CannotLook, type Finding, type FindingCode, isFinding, type Unlooked } from '../domain/finding.ts';

/** What was found, as it is told. */
export interface FindingsReport {
  /** The first of each code, in the order in which they were found. */
  readonly findings: readonly Finding[];
  /** How many of a code there are beside those. */
  readonly more: Partial<Readonly<Record<FindingCode, number>>>;
  readonly unlooked: readonly Unlooked[];
  /** How many of what were looked at. */
  readonly looked: Readonly<Record<string, number>>;
  /** Everything could be looked at, and nothing has to be dealt with. */
  readonly isHealthy: boolean;
}

/** Gathers what is found: of each kind the first ones, and how many more, so that no backbone is too large. */
export class Findings {
  readonly #found: Finding[] = [];
  readonly #counts = new Map<FindingCode, number>();
  readonly #unlooked: Unlooked[] = [];
  readonly #looked = new Map<string, number>();
  readonly #onProgress: (what: string, count: number) => void;
  #toDealWith = 0;

  /** @param onProgress told how many of what have been looked at so far */
  constructor(onProgress: (what: string, count: number) => void = () => {}) {
    this.#onProgress = onProgress;
  }

  add(...found: readonly Finding[]): void {
    for (const finding of found) {
      const count = (this.#counts.get(finding.code) ?? 0) + 1;
      this.#counts.set(finding.code, count);
      if (isFinding(finding)) this.#toDealWith += 1;
      if (count <= FINDINGS_PER_CODE_MAX) this.#found.push(finding);
    }
  }

  /** Counts what has been looked at. */
  looked(what: string, count = 1): void {
    const sum = (this.#looked.get(what) ?? 0) + count;
    this.#looked.set(what, sum);
    this.#onProgress(what, sum);
  }

  /** So many of it have been looked at. */
  countOf(what: string): number {
    return this.#looked.get(what) ?? 0;
  }

  /** Notes that something could not be looked at, or not all of it. */
  leave(subject: string, reason: string): void {
    this.#unlooked.push({ subject, reason });
  }

  /** Looks at something. What keeps one from it is noted, and others are looked at all the same. */
  async attempt(subject: string, act: () => Promise<void>): Promise<void> {
    try {
      await act();
    } catch (error) {
      if (error instanceof UnknownLayout) this.add({ code: 'unknown_layout', subject, detail: error.message });
      else this.leave(subject, reasonOf(error));
    }
  }

  report(): FindingsReport {
    const more = [...this.#counts].filter(([, count]) => count > FINDINGS_PER_CODE_MAX);
    return {
      findings: this.#found,
      more: Object.fromEntries(more.map(([code, count]) => [code, count - FINDINGS_PER_CODE_MAX])),
      unlooked: this.#unlooked,
      looked: Object.fromEntries(this.#looked),
      isHealthy: this.#toDealWith === 0 && this.#unlooked.length === 0,
    };
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof CannotLook) return error.message;
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}

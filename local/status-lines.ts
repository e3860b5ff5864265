import type { Terminal } from './terminal.ts';

/** What a topic is called and how many partitions it has. */
export interface TopicFacts {
  readonly name: string;
  readonly partitions: number;
}

/** All topics by their ids. */
export type DescribeTopics = () => Promise<ReadonlyMap<string, TopicFacts>>;

interface Activity {
  recordsIn: number;
  recordsOut: number;
  /** The line that was printed last, and when (epoch ms). */
  printed: string;
  printedAt: number;
}

/** On a terminal, activity shows after this time. */
const REDRAW_MS = 250;
/** Elsewhere, a topic's first line comes after this time, */
const FIRST_PRINT_MS = 1_000;
/** and the next ones not before this time has passed. Topics are asked for their names and partitions as seldom. */
const PRINT_EVERY_MS = 10_000;
/** Lines that a terminal shows: those of the topics that were active last. */
const LINES_MAX = 10;

/**
 * One quiet line per active topic: records in and out since the start, and partitions. Rewritten in place on a terminal;
 * elsewhere a line per topic and 10 s. While nothing happens, nothing is written.
 */
export class StatusLines {
  readonly #terminal: Terminal;
  readonly #describe: DescribeTopics;
  /** The topic that was active last comes last. */
  readonly #activities = new Map<string, Activity>();
  #facts: ReadonlyMap<string, TopicFacts> = new Map();
  #factsAt = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(terminal: Terminal, describe: DescribeTopics) {
    this.#terminal = terminal;
    this.#describe = describe;
  }

  /** Counts records that were appended to a topic or read from it. */
  count(topicId: string, direction: 'in' | 'out', records: number): void {
    const before = this.#activities.get(topicId);
    const activity = before ?? { recordsIn: 0, recordsOut: 0, printed: '', printedAt: Number.NEGATIVE_INFINITY };
    activity[direction === 'in' ? 'recordsIn' : 'recordsOut'] += records;
    this.#activities.delete(topicId);
    this.#activities.set(topicId, activity);
    this.#drawIn(this.#terminal.rewrites ? REDRAW_MS : FIRST_PRINT_MS);
  }

  /** What was held back is printed now; nothing more comes. */
  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
    if (!this.#terminal.rewrites) this.#printChanged(Number.POSITIVE_INFINITY);
  }

  #drawIn(delayMs: number): void {
    if (this.#closed) return;
    this.#timer ??= setTimeout(() => {
      this.#draw()
        .catch(() => null) // the topics could not be listed: the next activity tries again
        .then((nextMs) => {
          this.#timer = undefined;
          if (nextMs) this.#drawIn(nextMs);
        });
    }, delayMs).unref();
  }

  /** @returns ms until there is something to print that was held back. */
  async #draw(): Promise<number | null> {
    const now = Date.now();
    const unknown = [...this.#activities.keys()].some((topicId) => !this.#facts.has(topicId));
    if (unknown || now - this.#factsAt >= PRINT_EVERY_MS) {
      this.#facts = await this.#describe();
      this.#factsAt = now;
    }
    for (const topicId of this.#activities.keys()) {
      if (!this.#facts.has(topicId)) this.#activities.delete(topicId); // deleted meanwhile
    }
    if (this.#closed) return null;
    return this.#terminal.rewrites ? this.#redraw() : this.#printChanged(now);
  }

  #redraw(): null {
    const latest = [...this.#activities].slice(-LINES_MAX);
    const lines = latest.map(([topicId, activity]) => lineOf(this.#facts.get(topicId)!, activity)).sort();
    const hidden = this.#activities.size - latest.length;
    this.#terminal.showStatus(hidden > 0 ? [...lines, `and ${hidden} more`] : lines);
    return null;
  }

  #printChanged(now: number): number | null {
    let nextMs: number | null = null;
    for (const [topicId, activity] of this.#activities) {
      const facts = this.#facts.get(topicId);
      const line = facts && lineOf(facts, activity);
      if (!line || line === activity.printed) continue;
      const dueMs = activity.printedAt + PRINT_EVERY_MS - now;
      if (dueMs > 0) {
        nextMs = Math.min(nextMs ?? dueMs, dueMs);
        continue;
      }
      this.#terminal.print(line);
      activity.printed = line;
      activity.printedAt = now;
    }
    return nextMs;
  }
}

/** `orders  1,204 records in · 1,180 out · 8 partitions` */
function lineOf({ name, partitions }: TopicFacts, { recordsIn, recordsOut }: Activity): string {
  const number = (value: number) => value.toLocaleString('en-US');
  return `${name}  ${number(recordsIn)} records in · ${number(recordsOut)} out · ${number(partitions)} partitions`;
}

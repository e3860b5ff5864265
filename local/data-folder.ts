import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { lockFolder } from './folder-lock.ts';
import { Refusal } from './refusal.ts';

/**
 * A folder of data: `vertebra.json` (marks it as ours and tells the layout), `lock`, and `engine/`, which belongs to the
 * embedded AWS. Layouts are numbered; a folder of a newer one is left alone.
 */
export interface DataFolder {
  /** Absolute. */
  readonly path: string;
  /** Where the embedded AWS keeps its files. */
  readonly enginePath: string;
  /** Lets the next process in. */
  release(): void;
}

export const MARKER = 'vertebra.json';
const KIND = 'vertebra-data';
const LAYOUT = 1;
/** What may lie in a folder that is not marked yet: a start that was killed before it came to the marker. */
const UNMARKED = /^lock$|^vertebra\.json\.new$/;

/**
 * Opens the folder, makes it when there is none, and keeps others out. With `reset`, what it held is deleted first.
 * @throws {Refusal} when it is in use, holds something else, was written by a newer version, or the system does not let us.
 */
export function openDataFolder(folder: string, { reset = false } = {}): DataFolder {
  try {
    return open(folder, reset);
  } catch (error) {
    if (error instanceof Refusal) throw error;
    throw new Refusal(`${folder} cannot be used as a data folder: ${(error as Error).message}`);
  }
}

function open(folder: string, reset: boolean): DataFolder {
  const path = resolve(folder);
  const enginePath = join(path, 'engine');
  const entries = existsSync(path) ? readdirSync(path) : [];
  const marked = entries.includes(MARKER);
  if (!marked && entries.some((entry) => !UNMARKED.test(entry))) {
    throw new Refusal(`${folder} is not a Vertebra data folder and not empty: name another one with --data`);
  }
  if (marked) checkMarker(join(path, MARKER), folder, reset);
  const lock = lockFolder(path);
  if (reset) rmSync(enginePath, { recursive: true, force: true });
  if (reset || !marked) writeMarker(path);
  mkdirSync(enginePath, { recursive: true });
  return { path, enginePath, release: () => lock.release() };
}

function checkMarker(path: string, folder: string, reset: boolean): void {
  const { kind, layout } = readMarker(path);
  if (kind !== KIND) throw new Refusal(`${folder} is not a Vertebra data folder: its ${MARKER} says something else`);
  if (layout === LAYOUT || reset) return;
  throw new Refusal(
    `${folder} was written by another version of Vertebra (layout ${layout}; this version reads layout ${LAYOUT}): ` +
      'name another folder with --data, or delete its data with --reset',
  );
}

function readMarker(path: string): { kind?: unknown; layout?: unknown } {
  try {
    const marker: unknown = JSON.parse(readFileSync(path, 'utf8'));
    return typeof marker === 'object' && marker !== null ? marker : {};
  } catch {
    return {};
  }
}

/** Written beside and renamed, so that a folder is never half marked. */
function writeMarker(path: string): void {
  const fresh = join(path, `${MARKER}.new`);
  writeFileSync(fresh, `${JSON.stringify({ kind: KIND, layout: LAYOUT })}\n`);
  renameSync(fresh, join(path, MARKER));
}

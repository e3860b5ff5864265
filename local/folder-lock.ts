import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Refusal } from './refusal.ts';

/**
 * Who uses a data folder: `<folder>/lock`, JSON `{pid, birth}`. A process that was killed leaves its lock behind, so a lock
 * counts only while its process lives; `birth` tells that process from a later one with the same number. What slips through
 * (two starts that take over a stale lock at once) the engine refuses, which locks its files itself.
 */
export interface FolderLock {
  release(): void;
}

interface Holder {
  readonly pid: number;
  /** When the process began, in the system's own count; null where the system does not tell. */
  readonly birth: string | null;
}

/** @throws {Refusal} while another process uses the folder. */
export function lockFolder(folder: string): FolderLock {
  mkdirSync(folder, { recursive: true });
  const path = join(folder, 'lock');
  const own = JSON.stringify({ pid: process.pid, birth: birthOf(process.pid) } satisfies Holder);
  if (!tryCreate(path, own)) {
    const holder = readHolder(path);
    if (holder && isAlive(holder)) throw inUse(folder, holder.pid);
    rmSync(path, { force: true });
    if (!tryCreate(path, own)) throw inUse(folder, readHolder(path)?.pid);
  }
  return {
    release() {
      if (readHolder(path)?.pid === process.pid) rmSync(path, { force: true });
    },
  };
}

export const inUse = (folder: string, pid?: number) =>
  new Refusal(`data folder ${folder} is in use by ${pid === undefined ? 'another process' : `process ${pid}`}`);

function tryCreate(path: string, text: string): boolean {
  try {
    writeFileSync(path, text, { flag: 'wx' });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

function readHolder(path: string): Holder | null {
  try {
    const { pid, birth } = JSON.parse(readFileSync(path, 'utf8')) as Partial<Holder>;
    return Number.isSafeInteger(pid) && pid! > 0 ? { pid: pid!, birth: birth ?? null } : null;
  } catch {
    return null; // gone, or never finished: nobody holds it
  }
}

function isAlive(holder: Holder): boolean {
  try {
    process.kill(holder.pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false; // EPERM: alive, and somebody else's
  }
  const birth = birthOf(holder.pid);
  return birth === null || holder.birth === null || birth === holder.birth;
}

/** Linux: field 22 of `/proc/<pid>/stat`; the name in field 2 may hold spaces and brackets, so fields count from its end. */
function birthOf(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? null;
  } catch {
    return null;
  }
}

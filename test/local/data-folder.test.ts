import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openDataFolder } from '../../local/data-folder.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const write = (folder: string, name: string, text: string) => writeFileSync(join(folder, name), text);
const refusal = (message: string | RegExp) =>
  expect.objectContaining({ name: 'Refusal', exitCode: 1, message: expect.stringMatching(message) });

describe('a data folder', () => {
  it('is made, marked with its layout, and left without a lock', () => {
    const path = join(temporaryFolder(), 'deep', 'data');
    const folder = openDataFolder(path);
    expect(folder).toMatchObject({ path, enginePath: join(path, 'engine') });
    expect(readdirSync(path).sort()).toEqual(['engine', 'lock', 'vertebra.json']);
    folder.release();
    expect(readdirSync(path).sort()).toEqual(['engine', 'vertebra.json']);
    expect(JSON.parse(readFileSync(join(path, 'vertebra.json'), 'utf8'))).toEqual({ kind: 'vertebra-data', layout: 1 });
  });

  it('keeps its data when it is opened again, and loses it by reset', () => {
    const path = temporaryFolder();
    openDataFolder(path).release();
    write(join(path, 'engine'), 'records', 'kept');
    openDataFolder(path).release();
    expect(readdirSync(join(path, 'engine'))).toEqual(['records']);
    openDataFolder(path, { reset: true }).release();
    expect(readdirSync(join(path, 'engine'))).toEqual([]);
  });

  it('is opened though a start died in it before it was marked', () => {
    const path = temporaryFolder();
    write(path, 'lock', '');
    write(path, 'vertebra.json.new', '{');
    openDataFolder(path).release();
    expect(existsSync(join(path, 'vertebra.json'))).toBe(true);
  });

  it.each([false, true])('is refused when it holds something else (reset: %s), untouched', (reset) => {
    const path = temporaryFolder();
    write(path, 'thesis.tex', 'precious');
    mkdirSync(join(path, 'engine'));
    expect(() => openDataFolder(path, { reset })).toThrow(refusal(/is not a Vertebra data folder and not empty/));
    write(path, 'vertebra.json', '{"kind":"something"}');
    expect(() => openDataFolder(path, { reset })).toThrow(refusal(/is not a Vertebra data folder: its vertebra.json/));
    write(path, 'vertebra.json', 'null');
    expect(() => openDataFolder(path, { reset })).toThrow(refusal(/is not a Vertebra data folder: its vertebra.json/));
    expect(readdirSync(path).sort()).toEqual(['engine', 'thesis.tex', 'vertebra.json']);
  });

  it('is refused when the system does not let us, as when it is a file or lies below one', () => {
    const path = join(temporaryFolder(), 'file');
    writeFileSync(path, '');
    for (const taken of [path, join(path, 'below')]) {
      expect(() => openDataFolder(taken)).toThrow(refusal(/file(\/below)? cannot be used as a data folder: ENOTDIR/));
    }
  });

  it('is refused when a newer version wrote it, and may be reset', () => {
    const path = temporaryFolder();
    write(path, 'vertebra.json', '{"kind":"vertebra-data","layout":2}');
    expect(() => openDataFolder(path)).toThrow(
      refusal(/was written by another version of Vertebra \(layout 2; this version reads layout 1\)/),
    );
    openDataFolder(path, { reset: true }).release();
    openDataFolder(path).release();
  });
});

describe('the lock of a data folder', () => {
  it('keeps others out while its process lives, and lets them in once it is released', () => {
    const path = temporaryFolder();
    const first = openDataFolder(path);
    for (const reset of [false, true]) {
      expect(() => openDataFolder(path, { reset })).toThrow(
        refusal(`^data folder .* is in use by process ${process.pid}$`),
      );
    }
    first.release();
    openDataFolder(path).release();
  });

  it('is left alone by a release when it is another process that holds it by now', () => {
    const path = temporaryFolder();
    const folder = openDataFolder(path);
    write(path, 'lock', JSON.stringify({ pid: 1, birth: null }));
    folder.release();
    expect(existsSync(join(path, 'lock'))).toBe(true);
  });

  it('does not count once its process is gone, or when it is damaged', () => {
    const path = temporaryFolder();
    const { pid } = spawnSync(process.execPath, ['--version']);
    for (const stale of [JSON.stringify({ pid, birth: null }), '', '{"pid":"me"}', '{"pid":-1}']) {
      write(path, 'lock', stale);
      openDataFolder(path).release();
    }
  });

  it.runIf(existsSync('/proc/self/stat'))('does not count when another process has its number by now', () => {
    const path = temporaryFolder();
    write(path, 'lock', JSON.stringify({ pid: process.pid, birth: '1' }));
    openDataFolder(path).release();
  });
});

import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startedBackbone } from '../support/command-line.ts';
import { blocksOf, type GuidePage, guidePages, leadsSomewhere, programOf, runnableOf, SOURCES } from './guide-page.ts';
import { beginPage, commandsIn, console as guideConsole, shell, untold, written } from './guide-run.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const KINDS = ['ts', 'ts only compiled', 'sh', 'text'];
/** Types of the whole project are looked at: minutes on a machine that has other things to do. */
const COMPILE_MS = 180_000;
const PAGE_MS = 120_000;

const pages = guidePages();
let folder: string;
let runs = 0;
/** Of the compiler, which works while pages are run: they mostly wait. */
let complaints: Promise<string>;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'vertebra-guides-'));
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  complaints = complaintsOf({
    ...Object.fromEntries(pages.flatMap(sourcesOf)),
    'wrong.ts': "import { Vertebra } from 'vertebra';\nnew Vertebra({ endpoint: 4100 });\n",
  });
});
afterAll(() => rmSync(folder, { recursive: true }));

/** The page's program, and what stands for itself. */
function sourcesOf(page: GuidePage): [name: string, text: string][] {
  const stem = page.name.replace('.md', '');
  const alone = page.blocks.filter(({ info }) => info === 'ts only compiled');
  return [
    [`${stem}.ts`, programOf(page)],
    ...alone.map(({ code, line }): [string, string] => [`${stem}-${line}.ts`, `${code}\nexport {};\n`]),
  ];
}

/** @returns what the compiler complains of in these files, as strict as this project is */
function complaintsOf(files: Readonly<Record<string, string>>): Promise<string> {
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const paths = Object.fromEntries(Object.entries(SOURCES).map(([name, path]) => [name, [path]]));
  const config = {
    extends: join(ROOT, 'tsconfig.json'),
    compilerOptions: { paths },
    include: [join(ROOT, 'local/**/*.d.ts')],
    files: Object.keys(files),
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module' }));
  const compiler = join(ROOT, 'node_modules/typescript/bin/tsc');
  return new Promise((resolve) => {
    const options = { cwd: folder, timeout: COMPILE_MS };
    execFile(process.execPath, [compiler, '-p', folder], options, (error, out) => {
      resolve(error === null ? '' : out || error.message);
    });
  });
}

describe('the guides', () => {
  it('are there, and every block of theirs is of a kind that is looked at', () => {
    expect(pages.length).toBeGreaterThan(0);
    for (const { name, blocks } of pages) {
      for (const { info, line } of blocks) expect(KINDS, `${name}:${line}`).toContain(info);
    }
  });

  it('have no link that leads nowhere', () => {
    const broken = pages.flatMap(({ name, links }) =>
      links.filter((link) => !leadsSomewhere(link)).map((link) => `${name}: ${link}`),
    );
    expect(broken).toEqual([]);
    expect(['nowhere.md', 'delivery.md#nowhere', 'delivery.md#the-table'].map(leadsSomewhere)).toEqual([
      false,
      false,
      true,
    ]);
  });

  it.each(pages)(
    'do what they say: $name',
    async (page) => {
      const { url } = await startedBackbone();
      beginPage(url);
      // A name of its own: a module is run once.
      const file = join(folder, `run-${runs++}-${page.name.replace('.md', '.ts')}`);
      writeFileSync(file, runnableOf(page, url));
      await import(/* @vite-ignore */ file);
      expect(untold()).toEqual([]);
    },
    PAGE_MS,
  );

  it(
    'have no TypeScript that does not compile',
    async () => {
      const lines = (await complaints).split('\n');
      // What is wrong in the project itself is found where its own types are looked at.
      expect(lines.filter((line) => !/^(?:wrong\.ts|\.\.|\s|$)/.test(line))).toEqual([]);
      expect(lines.join()).toContain('wrong.ts(2,16)'); // or nothing was looked at
    },
    COMPILE_MS,
  );
});

describe('a guide', () => {
  it('that says what is not written is found wrong, and so is a command that fails', async () => {
    beginPage((await startedBackbone()).url);
    guideConsole.log('offset', { n: 1 });
    await written('offset { n: … }', 1);
    guideConsole.log('b');
    await expect(written('a', 1, 50)).rejects.toThrow('line 1');
    await expect(shell('npx vertebra dlq list nowhere')).rejects.toThrow('ended with 3');
  });

  it('has blocks of code, and none that is left open', () => {
    expect(blocksOf('a\n```ts only compiled\nb\n\nc\n```\nd')).toEqual([
      { info: 'ts only compiled', code: 'b\n\nc', line: 2 },
    ]);
    expect(() => blocksOf('```ts\nb')).toThrow('line 1 is not closed');
  });

  it('has commands of this project alone, and none that needs a shell', () => {
    expect(commandsIn('npx vertebra dlq list a # why\n\nnpx vertebra produce \\\n  \'{"a": 1}\'')).toEqual([
      ['dlq', 'list', 'a'],
      ['produce', '{"a": 1}'],
    ]);
    for (const line of ['ls', 'npx vertebra topics list | head', 'npx vertebra topics list $A']) {
      expect(() => commandsIn(line)).toThrow('cannot be run');
    }
  });
});

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const FOLDER = new URL('../../docs/guides/', import.meta.url);
const RUNNING = fileURLToPath(new URL('./guide-run.ts', import.meta.url));
/** Where the guides say that the backbone is: `npm start` listens there. */
const ENDPOINT = 'http://127.0.0.1:4100';
/** What a package's user imports, and where it is here. */
export const SOURCES: Readonly<Record<string, string>> = {
  vertebra: fileURLToPath(new URL('../../client/index.ts', import.meta.url)),
  'vertebra/relay': fileURLToPath(new URL('../../client/relay/index.ts', import.meta.url)),
  'vertebra/local': fileURLToPath(new URL('../../local/embedding.ts', import.meta.url)),
  'vertebra/infra': fileURLToPath(new URL('../../infra/index.ts', import.meta.url)),
};

/** A block of code, with its line in the page for whoever looks for it. */
export interface Block {
  /** `ts` is run, `ts only compiled` is not; `sh` is run; `text` is what was written since the one before it. */
  readonly info: string;
  readonly code: string;
  readonly line: number;
}

export interface GuidePage {
  readonly name: string;
  readonly blocks: readonly Block[];
  /** Where its links lead to within the project. */
  readonly links: readonly string[];
}

/** The pages of `docs/guides`, by name. */
export function guidePages(): GuidePage[] {
  const names = readdirSync(FOLDER).filter((name) => name.endsWith('.md'));
  return names.sort().map((name) => {
    const text = readFileSync(new URL(name, FOLDER), 'utf8');
    const links = [...text.matchAll(/\]\((?!https:)([^)]+)\)/g)].map(([, link]) => link!.replace(/^#/, `${name}#`));
    return { name, blocks: blocksOf(text), links };
  });
}

/** Whether there is such a page, as seen from the guides, with such a heading. */
export function leadsSomewhere(link: string): boolean {
  const [path, heading] = link.split('#');
  const page = new URL(path!, FOLDER);
  if (!existsSync(page)) return false;
  return heading === undefined || headingsOf(readFileSync(page, 'utf8')).includes(heading);
}

/** As links name them. */
function headingsOf(page: string): string[] {
  const headings = [...page.matchAll(/^#+ (.+)$/gm)].map(([, heading]) => heading!.toLowerCase());
  return headings.map((heading) => heading.replace(/[^\p{L}\p{N} _-]/gu, '').replaceAll(' ', '-'));
}

/** @throws {Error} for a fence that is not closed: what follows would be taken for code */
export function blocksOf(page: string): Block[] {
  const blocks: Block[] = [];
  let open: { info: string; line: number; lines: string[] } | undefined;
  for (const [i, line] of page.split('\n').entries()) {
    const fence = /^\s*```(.*)$/.exec(line);
    if (open === undefined) {
      if (fence) open = { info: fence[1]!.trim(), line: i + 1, lines: [] };
    } else if (fence) {
      blocks.push({ info: open.info, line: open.line, code: open.lines.join('\n') });
      open = undefined;
    } else open.lines.push(line);
  }
  if (open) throw new Error(`the block in line ${open.line} is not closed`);
  return blocks;
}

/** All that is run of a page's TypeScript: one program, as a reader has it who follows the page. */
export function programOf({ blocks }: GuidePage): string {
  return `${blocks
    .filter(({ info }) => info === 'ts')
    .map(({ code }) => code)
    .join('\n')}\nexport {};\n`;
}

/**
 * The same, to be run: against this backbone, with the page's commands and what it says that is written, each in its place.
 * @param endpoint in the place of the one that the page names
 */
export function runnableOf({ blocks }: GuidePage, endpoint: string): string {
  const steps = blocks.map(({ info, code, line }) => {
    if (info === 'ts') return code;
    if (info === 'sh') return `await shell(${JSON.stringify(code)});`;
    if (info === 'text') return `await written(${JSON.stringify(code)}, ${line});`;
    return '';
  });
  const program = steps.join('\n').replaceAll(ENDPOINT, endpoint);
  const resolved = Object.entries(SOURCES).reduce(
    (text, [name, path]) => text.replaceAll(` from '${name}';`, ` from ${JSON.stringify(path)};`),
    program,
  );
  return `import { console, shell, written } from ${JSON.stringify(RUNNING)};\n${resolved}\n`;
}

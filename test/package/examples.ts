import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './project.ts';

/** The code that stands in a page behind `<!-- example: <name> -->`. */
export function exampleIn(page: string, name: string): string {
  const [, behind] = readFileSync(join(ROOT, page), 'utf8').split(`<!-- example: ${name} -->`);
  const found = /^\s*```\w+\n([\s\S]*?)^```$/m.exec(behind ?? '');
  if (found === null) throw new Error(`${page} has no example '${name}'`);
  return found[1]!;
}

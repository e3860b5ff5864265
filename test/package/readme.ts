import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './project.ts';

/** The code that stands in the README behind `<!-- example: <name> -->`. */
export function readmeExample(name: string): string {
  const readme = readFileSync(join(ROOT, 'README.md'), 'utf8');
  const [, behind] = readme.split(`<!-- example: ${name} -->`);
  const found = /^\s*```\w+\n([\s\S]*?)^```$/m.exec(behind ?? '');
  if (found === null) throw new Error(`the README has no example '${name}'`);
  return found[1]!;
}

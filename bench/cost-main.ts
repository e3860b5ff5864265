import { readFile, writeFile } from 'node:fs/promises';
import { costPage } from './cost-page.ts';

// Counts anew what each act consumes, keeps it beside this file, and writes docs/cost.md.
const COUNTED = new URL('counted.json', import.meta.url);
const PAGE = new URL('../docs/cost.md', import.meta.url);

// Before anything of the functions or the SDK is loaded: no lines of theirs.
process.env.POWERTOOLS_LOG_LEVEL = 'SILENT';
process.env.POWERTOOLS_METRICS_DISABLED = 'true';
process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED = 'true';

const { countUsage } = await import('./usage.ts');
const counted = await countUsage();
const before = await readFile(PAGE, 'utf8').catch(() => '');
const page = `${costPage(counted)}\n`;
await writeFile(COUNTED, `${JSON.stringify(counted, null, 2)}\n`);
await writeFile(PAGE, page);
console.log(page === before ? 'docs/cost.md is as it was' : 'docs/cost.md is written anew');

import { bundleRows } from './bundle.ts';
import { type Progress, type Section, tableOf } from './section.ts';

/** Source: the project's own bound on a package, of the bundle of the bare SDK clients that it uses. */
const RATIO_MAX = 1.25;
/** The package that serves the whole API has five functions' own code, and each client but once. */
const RATIO_OF_ALL_MAX = 1.45;
const LOADS = 5;

const HEADS = {
  function: 'function',
  bytes: 'bytes',
  floorBytes: 'bare SDK',
  ratio: 'ratio',
  zippedBytes: 'zipped',
  loadMs: 'load ms',
  floorLoadMs: 'bare SDK',
  loadRatio: 'ratio',
};

/** Size and load time of each function's package. */
export async function measurePackages(progress: Progress): Promise<Section> {
  progress('bundling and loading');
  const rows = await bundleRows(LOADS);
  const large = rows
    .filter((row) => row.ratio > (row.function === 'whole' ? RATIO_OF_ALL_MAX : RATIO_MAX))
    .map((row) => `${row.function}: ${row.ratio.toFixed(2)}`);
  return {
    title: 'Lambda packages, beside a bundle of the bare SDK clients and commands that they use',
    tables: [tableOf(`load: median of ${LOADS} imports, each in a new process`, HEADS, rows)],
    laws: [{ law: `each package is at most ${RATIO_MAX} × the bare SDK`, broken: large }],
    notes: [],
  };
}

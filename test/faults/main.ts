import { fork } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

// Before anything of the functions or the SDK is loaded: no log lines and no advice between the lines of the report.
process.env.POWERTOOLS_LOG_LEVEL = 'SILENT';
process.env.POWERTOOLS_METRICS_DISABLED = 'true';
process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED = 'true';
const { Coverage } = await import('./coverage.ts');
const { runHistory, runSeeds } = await import('./seeds.ts');

const USAGE = `Runs simulated histories of the backbone under faults, and judges them.

  npm run test:faults                           2,000 histories
  npm run test:faults -- --seeds 300 --from 7   300 of them, the first one from seed 7
  npm run test:faults -- --seed 123             one history, with everything that happened in it
  npm run test:faults -- --long                 on and on, until it is stopped
`;

/** Seeds that a process is given at a time. */
const CHUNK = 20;
/** Below this, a situation may be missing by chance. */
const SEEDS_FOR_COVERAGE = 1000;
const PROGRESS_EVERY_MS = 10_000;

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    seeds: { type: 'string', default: '2000' },
    from: { type: 'string', default: '1' },
    long: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

if (process.send !== undefined) serve();
else if (values.help) process.stdout.write(USAGE);
else if (values.seed !== undefined) process.exitCode = await replay(number(values.seed));
else
  process.exitCode = await runAll(number(values.from), values.long ? Number.POSITIVE_INFINITY : number(values.seeds));

function number(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  process.stderr.write(`'${text}' is not a number\n\n${USAGE}`);
  process.exit(2);
}

/** As a child: runs the chunks that it is sent, for as long as somebody wants to know. A Ctrl-C is the parent's to take. */
function serve(): void {
  process.on('SIGINT', () => {});
  process.on('disconnect', () => process.exit());
  process.on('message', async ([from, count]: [number, number]) => process.send!(await runSeeds(from, count)));
}

async function replay(seed: number): Promise<number> {
  const { environment, violations, trace } = await runHistory(seed, { traced: true });
  process.stdout.write(`${trace.join('\n')}\n\nseed ${seed}, '${environment}': `);
  process.stdout.write(violations.length === 0 ? 'nothing was violated\n' : '\n');
  for (const { kind, what } of violations) process.stdout.write(`  ${kind}: ${what}\n`);
  return violations.length === 0 ? 0 : 1;
}

async function runAll(from: number, seeds: number): Promise<number> {
  const coverage = new Coverage();
  const begun = performance.now();
  let next = from;
  let histories = 0;
  let failed = 0;
  const say = () => {
    const seconds = (performance.now() - begun) / 1_000;
    const rate = (histories / seconds).toFixed(1);
    process.stdout.write(`${seconds.toFixed(0)} s: ${histories} histories, ${rate} a second, ${failed} violated\n`);
  };
  const progress = setInterval(say, PROGRESS_EVERY_MS);
  const end = from + seeds;
  const stop = () => {
    next = end;
  };
  // The first Ctrl-C lets what is running come to its end and reports; the next one does not.
  process.once('SIGINT', stop);
  await Promise.all(
    Array.from({ length: availableParallelism() }, async () => {
      const child = fork(fileURLToPath(import.meta.url), { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
      while (next < end) {
        const chunk = [next, Math.min(CHUNK, end - next)];
        next += CHUNK;
        child.send(chunk);
        const report = await answerOf(child);
        coverage.add(report.situations);
        histories += report.histories;
        failed += report.failures.length;
        for (const { seed, environment, violations } of report.failures) {
          const [first] = violations;
          process.stdout.write(`seed ${seed}, '${environment}': ${first!.kind}: ${first!.what}\n`);
          process.stdout.write(`  npm run test:faults -- --seed ${seed}\n`);
        }
      }
      child.kill();
    }),
  );
  clearInterval(progress);
  process.off('SIGINT', stop);
  process.stdout.write(`\n${coverage.lines().join('\n')}\n\n`);
  say();
  process.stdout.write(`seeds ${from} to ${from + histories - 1}\n`);
  const missing = histories >= SEEDS_FOR_COVERAGE ? coverage.missing() : [];
  if (missing.length > 0) process.stdout.write(`never reached: ${missing.join(', ')}\n`);
  return failed > 0 || missing.length > 0 ? 1 : 0;
}

function answerOf(child: ReturnType<typeof fork>): Promise<Awaited<ReturnType<typeof runSeeds>>> {
  return new Promise((resolve, reject) => {
    const ended = (code: number | null) => reject(new Error(`a process that runs histories ended with ${code}`));
    child.once('exit', ended);
    child.once('message', (report) => {
      child.off('exit', ended);
      resolve(report as Awaited<ReturnType<typeof runSeeds>>);
    });
  });
}

import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { COMMON } from '../../vitest.config.ts';

/** The parts of `npm run test:faults` that are too long for `npm test`. */
export default defineConfig({
  root: fileURLToPath(new URL('../..', import.meta.url)),
  test: {
    ...COMMON,
    // Those that kill processes mostly wait.
    maxWorkers: Math.max(2, availableParallelism()),
    include: [
      'test/faults/{broken-protocols,command,kill}.test.ts',
      'test/faults/groups/{broken-groups,kill-groups}.test.ts',
      'test/faults/push/{broken-push,histories}.test.ts',
      'test/faults/lanes-model/lanes-model.test.ts',
    ],
  },
});

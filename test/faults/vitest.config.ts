import { fileURLToPath } from 'node:url';
import { defineConfig, mergeConfig } from 'vitest/config';
import common from '../../vitest.config.ts';

/** The parts of `npm run test:faults` that are too long for `npm test`. */
export default mergeConfig(
  { ...common, test: { ...common.test, include: [], exclude: [] } },
  defineConfig({
    root: fileURLToPath(new URL('../..', import.meta.url)),
    test: { include: ['test/faults/{broken-protocols,push/broken-push,command,kill}.test.ts'] },
  }),
);

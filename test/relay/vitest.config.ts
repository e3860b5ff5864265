import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { COMMON } from '../../vitest.config.ts';

/** The relay on a real PostgreSQL, killed again and again. Where there is none this fails: nothing is skipped here. */
export default defineConfig({
  root: fileURLToPath(new URL('../..', import.meta.url)),
  test: {
    ...COMMON,
    testTimeout: 240_000,
    hookTimeout: 120_000,
    include: ['test/relay/**/*.test.ts', 'test/client/relay/**/*.test.ts'],
    env: { ...COMMON.env, VERTEBRA_POSTGRES: 'required' },
  },
});

import { defineConfig } from 'vitest/config';
import { COMMON } from '../../vitest.config.ts';

/** A deployed stack, called as its users call it. `npm run test:deploy` deploys it and runs this. */
export default defineConfig({
  test: {
    ...COMMON,
    include: ['test/deploy/**/*.test.ts'],
    // A rule of the minute, and functions that start cold.
    testTimeout: 240_000,
    hookTimeout: 240_000,
    // Much is waited for; and an emulator starts a process for each call that runs beside others.
    maxWorkers: 2,
    reporters: ['verbose'],
  },
});

import { defineConfig } from 'vitest/config';
import { COMMON } from '../../vitest.config.ts';

/** What `cdk synth` makes, run as it is: packages, wiring and policies. */
export default defineConfig({
  test: { ...COMMON, include: ['test/assembly/**/*.test.ts'], testTimeout: 120_000, hookTimeout: 240_000 },
});

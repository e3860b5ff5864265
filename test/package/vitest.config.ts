import { defineConfig } from 'vitest/config';

/** The package as others get it: built, packed, installed into an empty project. Needs npm's cache, or the network. */
export default defineConfig({
  test: { include: ['test/package/**/*.test.ts'], testTimeout: 120_000, hookTimeout: 240_000 },
});

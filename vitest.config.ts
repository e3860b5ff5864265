import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

/** Tiers that need more than Node (an emulator, a packed install) or more time have their own commands. */
const OTHER_TIERS = [
  'test/assembly/**',
  'test/deploy/**',
  'test/package/**',
  'test/relay/**',
  'test/faults/{broken-protocols,command,kill}.test.ts',
  'test/faults/groups/{broken-groups,kill-groups}.test.ts',
  'test/faults/push/{broken-push,histories}.test.ts',
  'test/faults/lanes-model/lanes-model.test.ts',
];

/** Files that change, or measure, what a whole process shares (clocks, output, memory, modules), or load a module anew. */
const ALONE = [
  'test/bench/memory.test.ts',
  'test/faults/simulator/simulator.test.ts',
  'test/functions/observability.test.ts',
  'test/local/aws/dynamodb/*.test.ts',
  'test/local/status-lines.test.ts',
  'test/regression/many-requests.test.ts',
  'test/regression/parked-keys-that-collide.test.ts',
];

/** What all tiers have in common. */
export const COMMON = {
  // A shared machine may be slow, or stop for a while: what hangs is seen a minute later, what is only slow passes.
  testTimeout: 90_000,
  hookTimeout: 90_000,
  expect: { poll: { timeout: 30_000 } }, // a second, otherwise
  // Whoever watches sees a failure at once; CI tries once more, and says so.
  retry: process.env.CI ? 1 : 0,
  env: {
    AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: 'true',
    AWS_EC2_METADATA_DISABLED: 'true',
    POWERTOOLS_LOG_LEVEL: 'SILENT',
    POWERTOOLS_METRICS_DISABLED: 'true',
  },
};

export default defineConfig({
  test: {
    // Many tests wait (for processes, for pauses between attempts): one worker less than there are cores leaves cores idle.
    maxWorkers: Math.max(3, availableParallelism()),
    projects: [
      {
        // One process runs file after file: loading the SDK and the CDK for each took half of the time.
        test: {
          ...COMMON,
          name: 'together',
          isolate: false,
          include: ['test/**/*.test.ts'],
          exclude: [...OTHER_TIERS, ...ALONE],
        },
      },
      { test: { ...COMMON, name: 'alone', include: ALONE } },
    ],
  },
});

import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // Tiers that need more than Node (an emulator, a packed install) or more time have their own commands.
    exclude: [
      'test/deploy/**',
      'test/package/**',
      'test/faults/{broken-protocols,push/broken-push,command,kill}.test.ts',
    ],
    // Many tests wait (for processes, for pauses between attempts): one worker less than there are cores leaves cores idle.
    maxWorkers: Math.max(3, availableParallelism()),
    testTimeout: 30_000,
    hookTimeout: 30_000,
    env: {
      AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: 'true',
      AWS_EC2_METADATA_DISABLED: 'true',
      POWERTOOLS_LOG_LEVEL: 'SILENT',
      POWERTOOLS_METRICS_DISABLED: 'true',
    },
  },
});

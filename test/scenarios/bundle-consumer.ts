import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

/**
 * Makes one module of `consumer.ts` and all that it needs.
 *
 * @param file to be written, `….cjs`
 * @param endpoint what `VERTEBRA_ENDPOINT` is in it; absent: what the environment says, as in Lambda
 */
export async function bundleConsumer(file: string, endpoint?: string): Promise<void> {
  await build({
    entryPoints: [fileURLToPath(new URL('consumer.ts', import.meta.url))],
    outfile: file,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    target: 'node20',
    ...(endpoint !== undefined && { define: { 'process.env.VERTEBRA_ENDPOINT': JSON.stringify(endpoint) } }),
    logLevel: 'error',
  });
}

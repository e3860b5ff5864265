import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { AssetHashType, DockerImage } from 'aws-cdk-lib';
import { type AssetCode, Code } from 'aws-cdk-lib/aws-lambda';
import type { BuildOptions } from 'esbuild';

/** The functions that there are, each a file in `functions/` that exports `handler`. */
export const FUNCTIONS = [
  'produce',
  'fetch',
  'topics',
  'groups',
  'subscriptions',
  'whole',
  'dispatch',
  'deliver',
  'check',
  'sweep',
  'provision',
] as const;
export type FunctionSource = (typeof FUNCTIONS)[number];

const pathOf = (relative: string) => fileURLToPath(new URL(relative, import.meta.url));
const ROOT = pathOf('../../');

/**
 * How a function becomes a package: one ES module that holds everything it runs, the AWS SDK too, so that what was
 * tested is what runs. Names are kept, so that stack traces and error names can be read without a source map: a map
 * would be larger than the code, and be parsed when an error is thrown. The SDK's search for credentials is replaced by the one
 * place where Lambda puts them (`lambda-credentials.ts`).
 */
export const ESBUILD_OPTIONS: BuildOptions = {
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node24',
  mainFields: ['module', 'main'],
  minify: true,
  keepNames: true,
  alias: { '@aws-sdk/credential-provider-node': pathOf('lambda-credentials.ts') },
  absWorkingDir: ROOT,
};

/** Path of the file that the function of this name is built from. */
export function sourceOf(name: string): string {
  return pathOf(`../../functions/${name}.ts`);
}

/** Packs a function as `index.mjs` into a folder. */
export function packFunction(name: FunctionSource, folder: string): void {
  // In the published package there is no esbuild, and nothing to pack: it brings the functions packed.
  const { buildSync } = createRequire(import.meta.url)('esbuild') as typeof import('esbuild');
  const outfile = join(folder, 'index.mjs');
  buildSync({ ...ESBUILD_OPTIONS, entryPoints: [sourceOf(name)], outfile, logLevel: 'warning' });
}

/** A function's package: the one that lies beside these files, as it was published, or one made of the sources. */
export function codeOf(name: FunctionSource): AssetCode {
  const packed = pathOf(`../../packed/${name}`);
  if (existsSync(packed)) return Code.fromAsset(packed);
  return Code.fromAsset(pathOf('../../functions'), {
    assetHashType: AssetHashType.OUTPUT,
    bundling: {
      image: DockerImage.fromRegistry('no-image-is-needed'),
      command: [name], // tells the packages apart: the CDK makes each but once
      local: {
        tryBundle(folder) {
          packFunction(name, folder);
          return true;
        },
      },
    },
  });
}

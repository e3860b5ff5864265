import { fileURLToPath } from 'node:url';
import { type BundlingOptions, LogLevel, OutputFormat } from 'aws-cdk-lib/aws-lambda-nodejs';
import type { BuildOptions } from 'esbuild';

const TARGET = 'node24';
const MAIN_FIELDS = ['module', 'main'];

const CREDENTIALS = {
  replaced: '@aws-sdk/credential-provider-node',
  by: fileURLToPath(new URL('lambda-credentials.ts', import.meta.url)),
};

/**
 * How a function becomes a package: one ES module that holds everything it runs, the AWS SDK too, so that what was
 * tested is what runs. Names are kept, so that stack traces and error names can be read without a source map: a map
 * would be larger than the code, and be parsed when an error is thrown. The SDK's search for credentials is replaced by the one
 * place where Lambda puts them (`lambda-credentials.ts`).
 */
export const BUNDLING: BundlingOptions = {
  format: OutputFormat.ESM,
  target: TARGET,
  mainFields: MAIN_FIELDS,
  minify: true,
  keepNames: true,
  sourceMap: false,
  bundleAwsSDK: true,
  logLevel: LogLevel.WARNING,
  esbuildArgs: { '--alias': `${CREDENTIALS.replaced}=${CREDENTIALS.by}` },
};

/** The same as `BUNDLING`, for whoever calls esbuild itself to weigh a package. */
export const ESBUILD_OPTIONS: BuildOptions = {
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: TARGET,
  mainFields: MAIN_FIELDS,
  minify: true,
  keepNames: true,
  alias: { [CREDENTIALS.replaced]: CREDENTIALS.by },
};

/** Path of the file that the function of this name is built from. */
export function sourceOf(name: string): string {
  return fileURLToPath(new URL(`../../functions/${name}.ts`, import.meta.url));
}

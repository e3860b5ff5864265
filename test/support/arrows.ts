import { posix } from 'node:path';

/** What a part of the tree may know: other parts, and packages by the beginning of their name. */
interface Part {
  readonly parts: readonly string[];
  /** `null`: any. */
  readonly packages: readonly string[] | null;
}

const SHARED = ['shared/domain', 'shared/operations', 'shared/store', 'shared/target', 'shared/wire', 'shared/env.ts'];
/** All that `infra` knows of the running code: names, bounds, routes and their rights, its version, and what a deployment prints. */
const FOR_INFRA = [
  ...['shared/env.ts', 'shared/domain/limits.ts', 'shared/domain/rights.ts', 'shared/wire/routes.ts'],
  ...['shared/wire/route-rights.ts', 'shared/wire/first-steps.ts', 'shared/wire/version.ts'],
];
/** Loaded only where requests are signed with AWS credentials. */
const FOR_SIGNING = ['@smithy/signature-v4', '@aws-sdk/credential-provider-node'];

/** The arrows: functions → operations → domain; store, target and wire → domain; only bench knows local. Tests may know everything. */
const PARTS: Readonly<Record<string, Part>> = {
  'shared/domain': { parts: [], packages: [] },
  'shared/operations': { parts: ['shared/domain'], packages: [] },
  'shared/store': { parts: ['shared/domain'], packages: ['node:', '@aws-sdk/', '@smithy/'] },
  'shared/target': { parts: ['shared/domain'], packages: ['node:', '@aws-sdk/', '@smithy/'] },
  'shared/wire': { parts: ['shared/domain'], packages: ['node:', 'aws-lambda'] },
  'shared/env.ts': { parts: ['shared/domain'], packages: [] },
  functions: {
    parts: SHARED,
    packages: ['node:', '@aws-sdk/', '@middy/', '@aws-lambda-powertools/', 'aws-lambda', 'ulid'],
  },
  infra: { parts: FOR_INFRA, packages: ['node:', 'aws-cdk-lib', 'constructs', 'cdk-nag', 'esbuild'] },
  // It writes the backbone's own items beside the user's, by the user's client.
  'client/effects': {
    parts: ['client', 'shared/domain', 'shared/store'],
    packages: ['node:', '@aws-sdk/client-dynamodb'],
  },
  client: { parts: ['client/effects', 'shared/domain', 'shared/wire'], packages: ['node:', ...FOR_SIGNING] },
  cli: {
    // The doctor looks where no API leads; it is loaded when it is called.
    parts: ['client', 'local', 'functions/doctor.ts', 'shared/domain', 'shared/wire'],
    packages: ['node:', 'tsx', 'commander', 'cli-progress', 'csv-parse', ...FOR_SIGNING],
  },
  console: { parts: ['client', 'shared/wire'], packages: null },
  local: { parts: ['functions', ...SHARED], packages: null },
  bench: { parts: ['client/effects', 'client', 'functions', 'infra', 'local', ...SHARED], packages: null },
  // As somebody's own project, which imports the package: its SDK, its constructs, its embedded backbone.
  examples: { parts: ['client', 'infra', 'local'], packages: null },
};

/**
 * Parts in which AWS clients are made, and those in which they are called. `local` sets its own AWS up; what is sent in
 * `client` and `cli` are messages.
 */
const MAKE_CLIENTS = ['functions', 'local', 'bench', 'examples'];
const CALL_CLIENTS = ['shared/store', 'shared/target', 'client/effects', 'client', 'cli', 'local', 'bench', 'examples'];
/** The words and the decisions take time, randomness and surroundings as arguments. */
const PURE = ['shared/domain', 'shared/operations', 'shared/wire'];

/**
 * What is wrong with a source file's arrows, in sentences. Not for tests, which quote what would be wrong.
 *
 * @param path from the root, with `/`
 */
export function wrongArrows(path: string, source: string): string[] {
  const own = partOf(path);
  if (!own) return [`${path} belongs to no part of the tree`];
  const code = withoutComments(source);
  const wrong = importsOf(code).flatMap((specifier) => wrongImport(path, own, specifier));
  if (!MAKE_CLIENTS.includes(own) && /\bnew \w+Client\(/.test(code)) wrong.push(`${path} makes an AWS client`);
  if (!CALL_CLIENTS.includes(own) && /\.send\(/.test(code)) wrong.push(`${path} calls an AWS client`);
  const impure = PURE.includes(own) && /\b(?:process\.env|Date\.now\(|Math\.random\(|new Date\(\))/.exec(code);
  if (impure) wrong.push(`${path} uses ${impure[0]}`);
  return wrong;
}

function wrongImport(path: string, own: string, specifier: string): string[] {
  const { parts, packages } = PARTS[own]!;
  if (!specifier.startsWith('.')) {
    const known = packages === null || packages.some((name) => specifier.startsWith(name));
    return known ? [] : [`${path} imports ${specifier}`];
  }
  const target = posix.join(posix.dirname(path), specifier);
  const targetPart = partOf(target);
  const known = targetPart === own || parts.some((part) => part === target || part === targetPart);
  return known ? [] : [`${path} imports ${target}`];
}

function partOf(path: string): string | undefined {
  return Object.keys(PARTS).find((part) => path === part || path.startsWith(`${part}/`));
}

/** Static, dynamic and type imports, and re-exports. */
function importsOf(code: string): string[] {
  return [...code.matchAll(/\b(?:from\s*|import\s*\(?\s*)['"]([^'"\n]+)['"]/g)].map((found) => found[1]!);
}

function withoutComments(source: string): string {
  return source.replace(/\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/.*$/gm, '');
}

import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { CloudFormationClient, DescribeStacksCommand } from '@aws-sdk/client-cloudformation';
import { Cdk, type Outputs } from './cdk.ts';
import { DEPLOYMENT_VARIABLE, type Deployment } from './deployed.ts';
import { startEmulator } from './emulator.ts';
import { killAll, start } from './run.ts';

const HELP = `npm run test:deploy                     deploys into an emulator, tries it, removes it
npm run test:deploy -- --stack NAME     tries a stack that is deployed, by the AWS credentials and region of the environment

The emulator is the one at AWS_ENDPOINT_URL, or MiniStack, which is installed and started.`;

type Environment = Record<string, string | undefined>;

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const CONSUMER_APP = `node --import tsx ${fileURLToPath(new URL('consumer-app.ts', import.meta.url))}`;
const VITEST = join(ROOT, 'node_modules', 'vitest', 'vitest.mjs');
/** Of the last run that failed. */
const LOG_KEPT = join(ROOT, '.cache', 'ministack', 'failed.log');
const PROBE_MS = 2_000;

const begunAt = Date.now();
function tell(line: string): void {
  console.log(`[${((Date.now() - begunAt) / 1_000).toFixed(0).padStart(4)} s] ${line}`);
}

/** @returns the exit code of the tests */
async function main(folder: string): Promise<number> {
  const { values, positionals } = parseArgs({
    options: { stack: { type: 'string' }, help: { type: 'boolean' } },
    allowPositionals: true,
  });
  if (values.help) {
    console.log(HELP);
    return 0;
  }
  if (values.stack !== undefined) return tryDeployed(values.stack, folder, positionals);
  const given = process.env.AWS_ENDPOINT_URL;
  if (given !== undefined && (await answers(given))) {
    tell(`using what answers at ${given}`);
    return deployAndTry(withDefaults(process.env), folder, positionals, 'clean up');
  }
  tell('starting MiniStack');
  const emulator = await startEmulator(folder, tell);
  let code = 1;
  try {
    code = await deployAndTry({ ...withoutCredentials(process.env), ...emulator.environment }, folder, positionals);
    return code;
  } finally {
    await emulator.stop();
    if (code !== 0) {
      copyFileSync(emulator.log, LOG_KEPT);
      tell(`what the emulator and the functions wrote is in ${relative(process.cwd(), LOG_KEPT)}`);
    }
  }
}

/** Everything from nothing, in an account in which nothing matters. */
async function deployAndTry(
  environment: Environment,
  folder: string,
  files: readonly string[],
  after?: 'clean up',
): Promise<number> {
  const cdk = new Cdk(folder, environment);
  const stack = `VertebraTest${Date.now().toString(36)}`;
  tell('bootstrapping the account, and synthesising the stack');
  const [assembly] = await Promise.all([cdk.synthesise({ stackName: stack }), cdk.bootstrap(environment.AWS_REGION!)]);
  tell(`deploying the stack ${stack}`);
  const { outputs } = await cdk.deploy(assembly, stack);
  try {
    return await withConsumer({ cdk, folder, stack, outputs }, (deployed) =>
      runTests({ ...deployed, assembly }, environment, files),
    );
  } finally {
    if (after !== undefined) {
      tell(`destroying the stack ${stack}`);
      await cdk.destroy(assembly, stack);
    }
  }
}

/** What is there already, and in use. */
async function tryDeployed(stack: string, folder: string, files: readonly string[]): Promise<number> {
  const environment = process.env;
  const client = new CloudFormationClient({});
  const { Stacks = [] } = await client.send(new DescribeStacksCommand({ StackName: stack }));
  client.destroy();
  const outputs = Object.fromEntries(
    (Stacks[0]?.Outputs ?? []).map(({ OutputKey, OutputValue }) => [OutputKey!, OutputValue!]),
  );
  const cdk = new Cdk(folder, environment);
  return withConsumer({ cdk, folder, stack, outputs }, (deployed) =>
    runTests(deployed, environment, ['scenarios', ...files]),
  );
}

interface Deployed {
  readonly cdk: Cdk;
  readonly folder: string;
  readonly stack: string;
  readonly outputs: Outputs;
}

/** A stack of functions that are pushed to, there while it is needed. */
async function withConsumer(
  { cdk, folder, stack, outputs }: Deployed,
  use: (deployed: Deployment) => Promise<number>,
): Promise<number> {
  const { ApiUrl: url, PushRoleArn: pushRole } = outputs;
  if (url === undefined || pushRole === undefined) {
    throw new Error(`The stack ${stack} has no outputs ApiUrl and PushRoleArn: deploy it as infra/app.ts does.`);
  }
  const apiId = new URL(url).hostname.split('.')[0]!;
  const stackName = `${stack}Consumer`;
  tell(`deploying the stack ${stackName}`);
  const assembly = await cdk.synthesise({ stackName, folder, endpoint: url, apiId, pushRole }, CONSUMER_APP);
  try {
    const { outputs: arns } = await cdk.deploy(assembly, stackName);
    return await use({ stack, url, consumerArn: arns.ConsumerArn!, strangerArn: arns.StrangerArn!, folder });
  } finally {
    tell(`destroying the stack ${stackName}`);
    await cdk.destroy(assembly, stackName);
  }
}

function runTests(deployment: Deployment, environment: Environment, files: readonly string[]): Promise<number> {
  tell('running the tests');
  const config = fileURLToPath(new URL('vitest.config.ts', import.meta.url));
  const child = start(process.execPath, [VITEST, 'run', '--config', config, ...files], {
    environment: { ...environment, [DEPLOYMENT_VARIABLE]: JSON.stringify(deployment) },
    folder: ROOT,
    shown: true,
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve(code ?? 1));
  });
}

async function answers(url: string): Promise<boolean> {
  try {
    await fetch(url, { signal: AbortSignal.timeout(PROBE_MS) });
    return true;
  } catch {
    return false;
  }
}

function withDefaults(environment: Environment): Environment {
  const defaults = { AWS_ACCESS_KEY_ID: 'test', AWS_SECRET_ACCESS_KEY: 'test', AWS_REGION: 'us-east-1' };
  return { ...defaults, AWS_EC2_METADATA_DISABLED: 'true', ...environment };
}

/** Nothing of this may ever reach an account. */
function withoutCredentials(environment: Environment): Environment {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !name.startsWith('AWS_')));
}

const folder = mkdtempSync(join(tmpdir(), 'vertebra-deploy-'));
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(signal, () => {
    killAll();
    rmSync(folder, { recursive: true, force: true });
    process.exit(130);
  });
}
try {
  process.exitCode = await main(folder);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
  tell(process.exitCode === 0 ? 'done' : 'failed');
}

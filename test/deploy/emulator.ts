import { createWriteStream, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { get } from 'node:https';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { end, run, start } from './run.ts';

/** The emulator with all that it needs, each at one version: what `docs/emulators.md` tells was seen with these. */
const REQUIREMENTS = fileURLToPath(new URL('requirements.txt', import.meta.url));
const CACHE = fileURLToPath(new URL('../../.cache/ministack', import.meta.url));
const PROGRAM = fileURLToPath(new URL('serve-ministack.py', import.meta.url));
/** Where the names lead that the emulator gives its APIs. */
const RESOLVES_NAMES = `--require ${fileURLToPath(new URL('loopback-names.cjs', import.meta.url))}`;
const INSTALL_TIMEOUT_MS = 180_000;
const READY_TIMEOUT_MS = 60_000;
const POLL_MS = 100;
/** Another program may take the port that was free a moment ago. */
const STARTS_MAX = 3;

export interface Emulator {
  /** What the environment of its callers says. */
  readonly environment: Readonly<Record<string, string>>;
  /** File with what it and the functions wrote. */
  readonly log: string;
  stop(): Promise<void>;
}

/**
 * Starts MiniStack on a free port of 127.0.0.1. It checks signatures and policies, which takes TLS: stack and bootstrap
 * refuse what comes without.
 *
 * @param folder for what it writes; it is the caller's to remove
 */
export async function startEmulator(folder: string, tell: (line: string) => void): Promise<Emulator> {
  const python = await install(tell);
  for (let starts = 1; ; starts++) {
    try {
      return await startOn(await freePort(), python, folder);
    } catch (error) {
      if (starts === STARTS_MAX) throw error;
    }
  }
}

async function startOn(port: number, python: string, folder: string): Promise<Emulator> {
  const home = join(folder, `ministack-${port}`);
  mkdirSync(home, { recursive: true });
  // Its workers are CommonJS, in a folder below this one: a package.json further up may say otherwise.
  writeFileSync(join(home, 'package.json'), '{}');
  const certificate = join(home, 'certificate.pem');
  const key = join(home, 'key.pem');
  await certify(certificate, key);
  const environment = { ...settings(port, home), MINISTACK_SSL_CERT: certificate, MINISTACK_SSL_KEY: key };
  const child = start(python, [PROGRAM], { environment, folder: home });
  const log = join(home, 'ministack.log');
  const written = createWriteStream(log);
  for (const stream of [child.stdout!, child.stderr!]) stream.pipe(written, { end: false });
  const endpoint = `https://127.0.0.1:${port}`;
  const giveUpAt = Date.now() + READY_TIMEOUT_MS;
  while (!(await answers(endpoint, readFileSync(certificate)))) {
    if (child.exitCode !== null || child.signalCode !== null || Date.now() > giveUpAt) {
      await end(child);
      throw new Error(`MiniStack did not start:\n${readFileSync(log, 'utf8')}`);
    }
    await sleep(POLL_MS);
  }
  const forCallers = {
    ...{ AWS_ENDPOINT_URL: endpoint, AWS_ACCESS_KEY_ID: 'test', AWS_SECRET_ACCESS_KEY: 'test' },
    ...{ AWS_REGION: 'us-east-1', AWS_DEFAULT_REGION: 'us-east-1', AWS_EC2_METADATA_DISABLED: 'true' },
    // Node reads the one; the CDK's command, which makes its own connections, the other.
    ...{ NODE_EXTRA_CA_CERTS: certificate, AWS_CA_BUNDLE: certificate },
    NODE_OPTIONS: RESOLVES_NAMES,
  };
  return { environment: forCallers, log, stop: () => end(child) };
}

/** Nothing of this process's environment but what finds programs: functions would see it. */
function settings(port: number, home: string): Record<string, string | undefined> {
  return {
    ...{ PATH: process.env.PATH, HOME: home, TMPDIR: home, LANG: 'C.UTF-8' },
    ...{ GATEWAY_PORT: String(port), BIND_HOST: '127.0.0.1', AUTH: 'true', USE_SSL: '1' },
    ...{ IOT_MTLS_ENABLED: '0', SFTP_ENABLED: '0', LOG_LEVEL: 'INFO' },
    ...{ AWS_ACCESS_KEY_ID: 'test', AWS_SECRET_ACCESS_KEY: 'test', AWS_DEFAULT_REGION: 'us-east-1' },
    AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: 'true',
    // For functions that call the API.
    NODE_OPTIONS: RESOLVES_NAMES,
  };
}

/** Makes a certificate of the emulator's names, those of its APIs too, which nobody trusts but who is told to. */
async function certify(certificate: string, key: string): Promise<void> {
  const extensions = [
    'subjectAltName=DNS:localhost,DNS:*.execute-api.localhost,IP:127.0.0.1',
    ...['basicConstraints=critical,CA:FALSE', 'extendedKeyUsage=serverAuth'],
  ];
  const made = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '30', '-subj', '/CN=MiniStack'];
  const written = ['-out', certificate, '-keyout', key];
  await run('openssl', [...made, ...written, ...extensions.flatMap((each) => ['-addext', each])], {
    environment: process.env,
    timeoutMs: READY_TIMEOUT_MS,
  });
}

/** @returns the Python that has the emulator */
async function install(tell: (line: string) => void): Promise<string> {
  const version = /^ministack==(\S+)$/m.exec(readFileSync(REQUIREMENTS, 'utf8'))![1]!;
  const folder = join(CACHE, version);
  const python = join(folder, 'bin', 'python');
  if (existsSync(python)) return python;
  const options = {
    environment: { ...process.env, PIP_DISABLE_PIP_VERSION_CHECK: '1' },
    timeoutMs: INSTALL_TIMEOUT_MS,
  };
  const needed = 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))';
  await run('python3', ['-c', needed], options).catch((error: Error) => {
    throw new Error(`Python 3.10 or later with venv and pip is needed to install MiniStack.\n${error.message}`);
  });
  tell(`installing MiniStack ${version} from PyPI`);
  const half = `${folder}.${process.pid}`;
  mkdirSync(CACHE, { recursive: true });
  try {
    await run('python3', ['-m', 'venv', half], options);
    await run(join(half, 'bin', 'python'), ['-m', 'pip', 'install', '--quiet', '-r', REQUIREMENTS], options);
    // Whoever was quicker has installed the same.
    if (!existsSync(python)) renameSync(half, folder);
  } finally {
    rmSync(half, { recursive: true, force: true });
  }
  return python;
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

function answers(endpoint: string, ca: Buffer): Promise<boolean> {
  return new Promise((resolve) => {
    const request = get(`${endpoint}/_ministack/health`, { ca, timeout: 1_000 }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    request.once('timeout', () => request.destroy());
    request.once('error', () => resolve(false));
  });
}

import { execFile } from 'node:child_process';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';

/** A machine of its own would end it long before. */
const TIMEOUT_MS = 60_000;
/** What a process of Node.js itself needs to run, and that the SDK says nothing about Node.js. */
const SURROUNDINGS = { AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: 'true', AWS_REGION: 'eu-central-1' };

/** Runs a script as a module in a new process, until it has nothing left to do. @returns what it called `tell` with last */
async function runFresh<T>(script: string, variables: Readonly<Record<string, string>> = {}): Promise<T> {
  const tell = `const tell = (told) => process.stdout.write('\\nTOLD ' + JSON.stringify(told) + '\\n');`;
  const args = ['--input-type=module', '-e', `${tell}\n${script}`];
  const env = { ...SURROUNDINGS, ...variables };
  const { stdout } = await promisify(execFile)(process.execPath, args, { env, timeout: TIMEOUT_MS });
  return JSON.parse(/.*^TOLD (.*)$/ms.exec(stdout)![1]!) as T;
}

const urlOf = (file: string) => JSON.stringify(pathToFileURL(file).href);

/** How much of a processor the import of a module takes, ms: other processes hardly count, as they do for the time that passes. */
export function cpuToLoad(file: string): Promise<number> {
  return runFresh(`
    const begin = process.cpuUsage();
    await import(${urlOf(file)});
    const { user, system } = process.cpuUsage(begin);
    tell((user + system) / 1_000);`);
}

/** Whom a module that is loaded, and then left to itself, tries to reach over the network. */
export function reachedBy(file: string): Promise<string[]> {
  return runFresh(`
    import dgram from 'node:dgram';
    import dns from 'node:dns';
    import net from 'node:net';
    const reached = [];
    const refuse = (what) => (...args) => {
      reached.push(what + ' ' + JSON.stringify(args.filter((arg) => typeof arg !== 'function')));
      throw new Error('there is no network');
    };
    net.Socket.prototype.connect = refuse('connect');
    dgram.Socket.prototype.send = refuse('send');
    for (const name of ['lookup', 'resolve', 'resolve4', 'resolve6']) dns[name] = dns.promises[name] = refuse(name);
    process.on('exit', () => tell(reached));
    await import(${urlOf(file)}).catch((error) => reached.push(String(error)));`);
}

export interface TwoCalls {
  /** What came of it before the variables were there, and after. */
  readonly before: Attempt;
  readonly after: Attempt;
}
export type Attempt = { readonly answer?: unknown } | { readonly error: string };

/** Calls a package's handler twice in one process: without the variables that it needs, then with them. */
export function callTwice(file: string, event: object, variables: Readonly<Record<string, string>>): Promise<TwoCalls> {
  return runFresh(
    `
    const { handler } = await import(${urlOf(file)});
    const context = { invokedFunctionArn: process.env.ARN, getRemainingTimeInMillis: () => 29_000 };
    const attempt = async () => {
      try {
        return { answer: await handler(structuredClone(${JSON.stringify(event)}), context) };
      } catch (error) {
        return { error: String(error) };
      }
    };
    const before = await attempt();
    Object.assign(process.env, ${JSON.stringify(variables)});
    const after = await attempt();
    tell({ before, after });
    process.exit();`,
    { ARN: 'arn:aws:lambda:eu-central-1:111122223333:function:one', POWERTOOLS_LOG_LEVEL: 'SILENT' },
  );
}

import { describeFailure, readableLogLine } from '../function-log.ts';
import type { Options } from '../options.ts';
import { Refusal } from '../refusal.ts';
import { API_HOST } from './api-makers.ts';
import { type AssemblyServer, openAssemblyServer } from './assembly-server.ts';

export interface RunOptions extends Pick<Options, 'port' | 'logLevel'> {
  /** Folder that `cdk synth` wrote. */
  readonly assembly: string;
  /** Folder of the embedded AWS; absent: everything in memory. */
  readonly path?: string | undefined;
  readonly print: (text: string) => void;
}

/**
 * Runs an assembly for a person: what functions log is printed, and what its stacks say of themselves is the greeting.
 * @throws {Refusal} when the assembly cannot be run; Node's error when the port is taken
 */
export async function runAssembly({ assembly, port, path, logLevel, print }: RunOptions) {
  const server = await openAssemblyServer({
    ...{ assembly, port, path },
    variables: { POWERTOOLS_LOG_LEVEL: logLevel.toUpperCase(), POWERTOOLS_METRICS_DISABLED: 'true' },
    onExchange: (exchange) => {
      const failure = describeFailure(exchange);
      if (failure) print(failure);
    },
    onLog: (name, line) => {
      const readable = readableLogLine(line);
      if (readable) print(`${name}  ${readable}`);
    },
    onFailure: (name, error) => print(`${name} failed  ${error instanceof Error ? error.message : String(error)}`),
  }).catch((error: NodeJS.ErrnoException) => {
    // Of the system, of the data folder, or told in a sentence already.
    if (error.code !== undefined || error.name === 'DataInUse' || error instanceof Refusal) throw error;
    throw new Refusal(`the assembly in ${assembly} cannot be run: ${error.message}`);
  });
  return { ...server, about: aboutOf(server) };
}

/** Who may call it, and what its stacks tell, with the URL that the API has here. */
function aboutOf({ url, keys, outputs, strangers }: AssemblyServer): string[] {
  const here = (value: unknown) => String(value).replaceAll(`https://${API_HOST}`, url);
  const { accessKeyId, secretAccessKey } = keys;
  const told = [...outputs].flatMap(([stack, values]) => {
    // What stacks tell each other is not for people.
    const own = Object.entries(values).filter(([name]) => !/^(?:Publish|Export)/.test(name));
    return own.length === 0 ? [] : ['', `${stack}:`, ...own.map(([name, value]) => `  ${name} = ${here(value)}`)];
  });
  return [
    ...(strangers.length > 0 ? ['', `Nothing is made of ${strangers.join(', ')}.`] : []),
    ...['', 'Who signs with this key may do everything:'],
    `  export AWS_ACCESS_KEY_ID=${accessKeyId} AWS_SECRET_ACCESS_KEY=${secretAccessKey}; unset AWS_SESSION_TOKEN`,
    ...told,
  ];
}

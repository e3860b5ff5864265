import { replacePort } from '../replace-port.ts';
import { PUSH_ENVIRONMENTS, type PushEnvironment } from './environments.ts';
import type { PushPorts } from './ports.ts';
import type { PushRun } from './push-run.ts';

/** The environment of that name, but for what is told. */
export function like(name: string, changes: Partial<PushEnvironment> = {}): PushEnvironment {
  const environment = PUSH_ENVIRONMENTS.find((candidate) => candidate.name === name);
  if (environment === undefined) throw new Error(`there is no environment '${name}'`);
  return { ...environment, ...changes };
}

export interface Sabotage {
  readonly seedsMax: number;
  readonly environment: PushEnvironment;
  break(run: PushRun): void;
}

/** One wrong port of every host's deliveries. */
export const wrong =
  <K extends keyof PushPorts>(port: K, make: (real: PushPorts[K], run: PushRun) => Partial<PushPorts[K]>) =>
  (run: PushRun): void => {
    run.sabotage = (ports) => replacePort(ports, port, (real) => make(real, run));
  };

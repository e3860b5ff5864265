import { InvalidOptions } from '../errors.ts';
import { MAX_BACKOFF_MS_DEFAULT, MIN_BACKOFF_MS_DEFAULT } from '../limits.ts';
import { integer, known, oneOf } from '../option-checks.ts';
import { Vertebra } from '../vertebra.ts';
import {
  CLAIM_ROWS_DEFAULT,
  CLAIM_ROWS_MAX,
  CONCURRENCY_DEFAULT,
  LANES_MAX,
  LEASE_MS_DEFAULT,
  LEASE_MS_MAX,
  LEASE_MS_MIN,
  POLL_MS_DEFAULT,
  POLL_MS_MAX,
  POLL_MS_MIN,
} from './limits.ts';
import type { RelayOptions } from './words.ts';

export interface RelaySettings extends Required<Omit<RelayOptions, 'metrics'>> {
  readonly metrics: RelayOptions['metrics'];
}

const OTHERS = ['vertebra', 'pool', 'table', 'onPoison', 'metrics'];

/** Least, default, most. */
const RANGES = {
  concurrency: [1, CONCURRENCY_DEFAULT, LANES_MAX],
  batchRows: [1, CLAIM_ROWS_DEFAULT, CLAIM_ROWS_MAX],
  pollMs: [POLL_MS_MIN, POLL_MS_DEFAULT, POLL_MS_MAX],
  leaseMs: [LEASE_MS_MIN, LEASE_MS_DEFAULT, LEASE_MS_MAX],
  minBackoffMs: [1, MIN_BACKOFF_MS_DEFAULT, LEASE_MS_MAX],
  maxBackoffMs: [1, MAX_BACKOFF_MS_DEFAULT, LEASE_MS_MAX],
} as const satisfies Record<string, readonly [number, number, number]>;

/** Every option with its value. @throws {InvalidOptions} naming the option that is missing, unknown or out of its range */
export function relaySettingsOf(options: RelayOptions): RelaySettings {
  known('A relay', options, [...OTHERS, ...Object.keys(RANGES)]);
  const { vertebra, pool, table, onPoison = 'holdKey', metrics } = options;
  if (!(vertebra instanceof Vertebra)) throw new InvalidOptions("'vertebra' must be a Vertebra");
  if (typeof pool?.query !== 'function') throw new InvalidOptions("'pool' must be a Pool of pg");
  oneOf('onPoison', onPoison, ['holdKey', 'skip']);
  if (metrics !== undefined && typeof metrics !== 'function') throw new InvalidOptions("'metrics' must be a function");
  const number = (name: keyof typeof RANGES): number => {
    const [min, byDefault, max] = RANGES[name];
    const value = options[name] ?? byDefault;
    integer(name, value, min, max);
    return value;
  };
  return {
    ...{ vertebra, pool, table, onPoison, metrics },
    ...{ concurrency: number('concurrency'), batchRows: number('batchRows') },
    ...{ pollMs: number('pollMs'), leaseMs: number('leaseMs') },
    ...{ minBackoffMs: number('minBackoffMs'), maxBackoffMs: number('maxBackoffMs') },
  };
}

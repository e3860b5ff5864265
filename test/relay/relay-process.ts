import pg from 'pg';
import { relayOutbox } from '../../client/relay/index.ts';
import { Vertebra } from '../../client/vertebra.ts';

/** What the process is told as its only argument, in JSON. */
export interface RelayCommand {
  readonly endpoint: string;
  readonly connection: pg.PoolConfig;
  readonly table: string;
  /** In the `User-Agent` of its requests. */
  readonly clientId: string;
}

/** Relays until it is killed, or told to stop by SIGTERM. Prints `ready`, and `sent <n>` for rows that are gone. */
const { endpoint, connection, table, clientId } = JSON.parse(process.argv[2]!) as RelayCommand;
const pool = new pg.Pool({ ...connection, connectionTimeoutMillis: 1_000 });
const relay = await relayOutbox({
  ...{ vertebra: new Vertebra({ endpoint, clientId }), pool, table, batchRows: 100 },
  ...{ leaseMs: 5_000, pollMs: 20, minBackoffMs: 10, maxBackoffMs: 1_000 },
  metrics: (event) => event.kind === 'sent' && process.stdout.write(`sent ${event.records}\n`),
});
process.stdout.write('ready\n');
process.on('SIGTERM', async () => {
  await relay.stop();
  await pool.end();
});

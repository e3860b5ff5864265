import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';

/** Where distributions put the server's programs. */
const ROOTS = ['/usr/lib/postgresql', '/usr/pgsql', '/opt/homebrew/opt/postgresql'];
const DEADLINE_MS = 60_000;

/** Folder of PostgreSQL's server programs, the newest; undefined: there is none on this machine. */
export function postgresPrograms(): string | undefined {
  const versions = ROOTS.filter((root) => existsSync(root)).flatMap((root) =>
    readdirSync(root).map((version) => join(root, version, 'bin')),
  );
  const path = (process.env.PATH ?? '').split(':');
  return [...versions.sort().reverse(), ...path].find((folder) => existsSync(join(folder, 'initdb')));
}

/** As `postgresPrograms`, where it must not be missing. @throws {Error} */
export function neededPostgres(): string {
  const programs = postgresPrograms();
  if (programs === undefined) throw new Error('There is no PostgreSQL on this machine: install the package postgresql');
  return programs;
}

/** A server of its own: in a temporary folder, reached by a socket in it, so that no port is taken. */
export interface Postgres {
  /** For `pg`. */
  readonly connection: { readonly host: string; readonly user: string; readonly database: string };
  pool(options?: pg.PoolConfig): pg.Pool;
  /** Ends all of it at once, as a power cut does. */
  kill(): Promise<void>;
  /** After `kill`: on the same data. */
  start(): Promise<void>;
  /** Ends it and removes its folder. */
  dispose(): Promise<void>;
}

/** PostgreSQL refuses to run as root: then it runs as the user that its package has made. */
function ownUser(): { uid?: number; gid?: number } {
  if (userInfo().uid !== 0) return {};
  const id = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}

/** @param programs as `postgresPrograms` found them */
export async function startPostgres(programs: string): Promise<Postgres> {
  const user = ownUser();
  const folder = mkdtempSync(join(tmpdir(), 'vertebra-pg-'));
  if (user.uid !== undefined) chownSync(folder, user.uid, user.gid!);
  const data = join(folder, 'data');
  const options = { ...user, cwd: folder, env: { ...process.env, HOME: folder, LC_ALL: 'C' } };
  const arguments_ = ['-D', data, '-U', 'vertebra', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync'];
  execFileSync(join(programs, 'initdb'), arguments_, { ...options, stdio: 'pipe' });

  const connection = { host: folder, user: 'vertebra', database: 'postgres' };
  let server: ChildProcess | undefined;
  const launch = async (): Promise<boolean> => {
    const settings = ['listen_addresses=', `unix_socket_directories=${folder}`, 'max_connections=50'];
    const flags = ['-D', data, ...settings.flatMap((setting) => ['-c', setting])];
    const started = spawn(join(programs, 'postgres'), flags, { ...options, stdio: 'ignore' });
    server = started;
    while (started.exitCode === null && started.signalCode === null) {
      if (await answers(connection)) return true;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    return false;
  };
  const postgres: Postgres = {
    connection,
    pool(more) {
      const pool = new pg.Pool({ ...connection, ...more });
      pool.on('error', () => {}); // of connections that nobody uses, when the server is killed
      return pool;
    },
    async kill() {
      const ended = once(server!, 'exit');
      server!.kill('SIGKILL');
      await ended;
    },
    async start() {
      // The children of a killed server end a little later; until then a new one refuses to start.
      const giveUpAt = Date.now() + DEADLINE_MS;
      while (!(await launch())) {
        if (Date.now() > giveUpAt) throw new Error(`PostgreSQL did not start within ${DEADLINE_MS} ms`);
      }
    },
    async dispose() {
      const running = server !== undefined && server.exitCode === null && server.signalCode === null;
      const ended = running ? once(server!, 'exit') : undefined;
      server?.kill('SIGQUIT'); // at once: the data goes, too
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
  await postgres.start();
  return postgres;
}

async function answers(connection: Postgres['connection']): Promise<boolean> {
  const client = new pg.Client(connection);
  client.on('error', () => {}); // told by the calls as well
  try {
    await client.connect();
    await client.query('SELECT 1');
    return true;
  } catch {
    return false;
  } finally {
    await client.end().catch(() => {});
  }
}

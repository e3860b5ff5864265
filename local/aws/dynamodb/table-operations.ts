import type { Table } from 'dynalite/db/index.js';
import type { ChangeFeed } from './change-feed.ts';
import type { Database } from './database.ts';
import { validationError } from './errors.ts';
import { actionOf, check, checked, STREAM_SPECIFICATION } from './requests.ts';
import { StoreView } from './store-view.ts';
import type { TimeToLive } from './time-to-live.ts';

/** Tables come and go with their stream and their expiry; each operation answers when it is through. */
export class TableOperations {
  readonly #database: Database;
  readonly #feed: ChangeFeed;
  readonly #timeToLive: TimeToLive;
  readonly #now: () => number;

  constructor(database: Database, feed: ChangeFeed, timeToLive: TimeToLive, now: () => number) {
    this.#database = database;
    this.#feed = feed;
    this.#timeToLive = timeToLive;
    this.#now = now;
  }

  /** Takes up the tables that are stored, and finishes what a killed process left half done. */
  async open(): Promise<void> {
    for await (const [name, table] of this.#database.entries<Table>('table~')) {
      if (table.TableStatus === 'DELETING') {
        await this.#clear(name);
      } else {
        if (table.TableStatus !== 'ACTIVE')
          await this.#database.put(`table~${name}`, { ...table, TableStatus: 'ACTIVE' });
        this.#feed.begin(table);
      }
    }
  }

  async create(body: unknown): Promise<unknown> {
    const view = new StoreView(this.#database);
    const data = checked('CreateTable', body, view) as unknown as Table;
    const specification = data.StreamSpecification;
    if (specification) {
      viewTypeOf(specification);
      if (specification.StreamEnabled) Object.assign(data, this.#newStream(data.TableName));
      else delete data.StreamSpecification;
    }
    const answer = await view.run<{ TableDescription: Table }>(actionOf('CreateTable'), data as never);
    const description = structuredClone(answer);
    this.#feed.begin(description.TableDescription);
    await this.#settled(data.TableName, 'CREATING');
    return description;
  }

  async delete(body: unknown): Promise<unknown> {
    const view = new StoreView(this.#database);
    const data = checked('DeleteTable', body, view);
    return this.#database.locks.holding([`table~${data.TableName}`], async () => {
      const answer = await view.run<{ TableDescription: Table }>(actionOf('DeleteTable'), data);
      this.#feed.end(answer.TableDescription);
      await this.#settled(data.TableName, 'DELETING');
      // Once more: a write that had begun before may have ended after dynalite removed the items.
      await this.#clear(data.TableName);
      return answer;
    });
  }

  async update(body: unknown): Promise<unknown> {
    const { StreamSpecification, ...rest } = body as Record<string, unknown>;
    const view = new StoreView(this.#database);
    if (!StreamSpecification) return view.run(actionOf('UpdateTable'), checked('UpdateTable', rest, view));
    const asked = check(
      { TableName: rest.TableName, StreamSpecification },
      STREAM_TYPES,
      undefined,
      view,
    ) as unknown as Table;
    return this.#database.locks.holding([`table~${asked.TableName}`], () => this.#switchStream(asked, view));
  }

  async #switchStream({ TableName, StreamSpecification }: Table, view: StoreView): Promise<unknown> {
    const table = await view.table(TableName);
    const enabled = table.StreamSpecification?.StreamEnabled === true;
    viewTypeOf(StreamSpecification!);
    if (StreamSpecification!.StreamEnabled === enabled) {
      const state = enabled ? 'already has an enabled stream' : 'has no stream to disable';
      throw validationError(`Table ${state}: TableName: ${TableName}`);
    }
    if (enabled) {
      delete table.StreamSpecification;
      this.#feed.end(table);
    } else {
      Object.assign(table, { StreamSpecification }, this.#newStream(TableName));
      this.#feed.begin(table);
    }
    await this.#database.put(`table~${TableName}`, table);
    return { TableDescription: table };
  }

  #newStream(table: string): { LatestStreamLabel: string; LatestStreamArn: string } {
    const label = new Date(this.#now()).toISOString().slice(0, -1);
    const view = new StoreView(this.#database);
    const { awsRegion, awsAccountId } = view.tableDb;
    return {
      LatestStreamLabel: label,
      LatestStreamArn: `arn:aws:dynamodb:${awsRegion}:${awsAccountId}:table/${table}/stream/${label}`,
    };
  }

  /** Waits for what dynalite does to a table in the background. */
  async #settled(table: string, status: string): Promise<void> {
    while ((await this.#database.get<Table>(`table~${table}`))?.TableStatus === status) {
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  }

  async #clear(table: string): Promise<void> {
    for (const kind of ['item-', 'index-local~', 'index-global~', 'tag-'])
      await this.#database.clear(`${kind}${table}~`);
    await this.#timeToLive.forget(table);
    await this.#database.del(`table~${table}`);
  }
}

const STREAM_TYPES = { TableName: { type: 'String', notNull: true }, ...STREAM_SPECIFICATION };

function viewTypeOf(specification: NonNullable<Table['StreamSpecification']>): void {
  if (specification.StreamEnabled !== (specification.StreamViewType !== undefined)) {
    throw validationError(
      `One or more parameter values were invalid: StreamViewType must ${specification.StreamEnabled ? '' : 'not '}be given when StreamEnabled is ${specification.StreamEnabled}`,
    );
  }
}

/** An outbox in PostgreSQL, and its relay: everything that is public of `vertebra/relay`. */
export { type OutboxTableOptions, outboxTableSql, type ValueType } from './outbox-table-sql.ts';
export { type OutboxRelay, relayOutbox } from './relay.ts';
export type { Backlog, OutboxPool, RelayEvent, RelayOptions, SetAside } from './words.ts';

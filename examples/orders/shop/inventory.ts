import type { TransactWriteItem } from '@aws-sdk/client-dynamodb';
import { processOnce } from '../../../client/index.ts';
import type { Order } from './events.ts';
import { count, put, read, text } from './items.ts';
import { processAndTell } from './outbox.ts';
import type { Services } from './services.ts';
import type { Step } from './step.ts';

type Counters = 'available' | 'reserved' | 'sold';

/** Reserves what is ordered, gives it back when nobody pays, and takes it off the books when it has left. */
export const inventory: Step = async (services, record, { type, order }) => {
  const { table } = services;
  const hold = (state: string) => put(table, `hold#${order.orderId}`, { state: text(state) });
  switch (type) {
    case 'OrderPlaced': {
      if (!(await isInStock(services, order))) {
        return processAndTell(services, record, [hold('rejected')], { type: 'OrderRejected', order });
      }
      // Whoever was quicker lets a condition fail: the record comes again, and finds too little.
      const writes = [...move(table, order, 'available', 'reserved'), hold('reserved')];
      return processAndTell(services, record, writes, { type: 'StockReserved', order });
    }
    case 'PaymentDeclined': {
      const writes = [...move(table, order, 'reserved', 'available'), hold('released')];
      return processAndTell(services, record, writes, { type: 'StockReleased', order });
    }
    case 'OrderShipped':
      await processOnce(record, [...move(table, order, 'reserved', 'sold'), hold('sold')], services);
  }
};

async function isInStock({ dynamodb, table }: Services, { lines }: Order): Promise<boolean> {
  const found = await Promise.all(lines.map(({ sku }) => read(dynamodb, table, `stock#${sku}`)));
  return lines.every(({ quantity }, i) => Number(found[i]?.available?.N ?? 0) >= quantity);
}

const move = (table: string, { lines }: Order, from: Counters, to: Counters): TransactWriteItem[] =>
  lines.map(({ sku, quantity }) => count(table, `stock#${sku}`, { [from]: -quantity, [to]: quantity }));

import { processOnce } from '../../../client/index.ts';
import { count } from './items.ts';
import type { Step } from './step.ts';

/** A point for each cent. Nobody has to know of it: it reads what is told anyway, from the first record on. */
export const loyalty: Step = async (services, record, { order }) => {
  const points = count(services.table, `points#${order.customer}`, { points: order.totalCents, orders: 1 });
  await processOnce(record, [points], services);
};

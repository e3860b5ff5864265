import { inventory } from '../shop/inventory.ts';
import { functionOf } from '../shop/step.ts';

export const handler = functionOf(inventory);

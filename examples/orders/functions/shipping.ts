import { shipping } from '../shop/shipping.ts';
import { functionOf } from '../shop/step.ts';

export const handler = functionOf(shipping);

import { loyalty } from '../shop/loyalty.ts';
import { functionOf } from '../shop/step.ts';

export const handler = functionOf(loyalty);

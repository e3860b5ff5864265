import { payment } from '../shop/payment.ts';
import { functionOf } from '../shop/step.ts';

export const handler = functionOf(payment);

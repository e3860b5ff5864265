import { type Delivered, deliveriesOf, type LambdaEvent } from '../../../client/index.ts';
import { type OrderEvent, parseEvent } from './events.ts';
import { openServices, type Services } from './services.ts';

/** What a service does with one event. It may be asked to do it again. */
export type Step = (services: Services, record: Delivered, event: OrderEvent) => Promise<void>;

/** The Lambda function of a subscription. What throws comes again, and what was done before it is passed then. */
export function functionOf(step: Step): (event: LambdaEvent) => Promise<void> {
  return async (event) => {
    const services = openServices();
    for (const delivered of deliveriesOf(event)) {
      await step(services, delivered, parseEvent(delivered.record.value));
    }
  };
}

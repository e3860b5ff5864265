import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { Vertebra } from '../../../client/index.ts';
import { FakeProvider } from './fake-provider.ts';
import type { Dynamo } from './items.ts';
import { type PaymentProvider, recordAnswer } from './payment.ts';

/** What the services work with. */
export interface Services {
  readonly backbone: Pick<Vertebra, 'prepareAppend'>;
  readonly dynamodb: Dynamo;
  /** The shop's own. */
  readonly table: string;
  /** The backbone's, in which `processOnce` leaves its marks. */
  readonly stateTable: string;
  readonly provider: PaymentProvider;
}

let make: (() => Services) | undefined;

/** For one call of a function. */
export function openServices(): Services {
  make ??= deployedServices();
  return make();
}

/** Where this is not Lambda, whoever runs the functions says what they work with. */
export function provideServices(services: () => Services): void {
  make = services;
}

/** What a deployed function finds in its environment. */
function deployedServices(): () => Services {
  const { ORDERS_TABLE: table, VERTEBRA_STATE_TABLE: stateTable = '' } = process.env;
  if (table === undefined) throw new Error('ORDERS_TABLE is not set');
  const dynamodb = new DynamoDBClient();
  const answer: FakeProvider['answer'] = (charge) => recordAnswer(services, charge);
  const provider = new FakeProvider({ dynamodb, table, answer });
  const services: Services = { backbone: new Vertebra(), dynamodb, table, stateTable, provider };
  return () => services;
}

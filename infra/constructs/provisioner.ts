import { CustomResource, Duration, Lazy, Stack } from 'aws-cdk-lib';
import type { IConstruct } from 'constructs';
import { Construct } from 'constructs';
import { PROVISION_FUNCTION_TIMEOUT_MS } from '../../shared/domain/limits.ts';
import { BackboneFunction, type FunctionDefaults } from './backbone-function.ts';
import type { Delivery } from './delivery.ts';
import type { LogStorage } from './log-storage.ts';

export interface ProvisionerProps {
  readonly storage: LogStorage;
  readonly delivery: Delivery;
  readonly defaults: FunctionDefaults;
}

/** Should an answer get lost, the deployment fails after this, and not after an hour: three calls, and the pauses between. */
const SERVICE_TIMEOUT = Duration.minutes(15);

/** Makes what apps say of topics, subscriptions and grants, while they are deployed. */
export class Provisioner extends Construct {
  readonly #function: BackboneFunction;

  constructor(scope: Construct, id: string, { storage, delivery, defaults }: ProvisionerProps) {
    super(scope, id);
    this.#function = new BackboneFunction(scope, 'Provision', {
      source: 'provision',
      description: 'Makes the topics, subscriptions and grants that stand in an app',
      inBackground: true,
      timeoutMs: PROVISION_FUNCTION_TIMEOUT_MS,
      ...defaults,
    });
    storage.grantProvision(this.#function);
    delivery.grantSubscribe(this.#function);
  }

  /** @param settings as in the body of the API's PUT */
  topic(scope: Construct, id: string, name: string, settings: object, onRemoval: string): CustomResource {
    return this.#resource(scope, id, 'Topic', { name, settings: jsonIn(scope, () => settings), onRemoval });
  }

  /** @param settings as in the body of the API's PUT */
  subscription(scope: Construct, id: string, name: string, settings: object, onRemoval: string): CustomResource {
    return this.#resource(scope, id, 'Subscription', { name, settings: jsonIn(scope, () => settings), onRemoval });
  }

  /** @param rights as they are at synthesis */
  grant(scope: Construct, id: string, principal: string, rights: readonly object[]): CustomResource {
    return this.#resource(scope, id, 'Grant', { principal, rights: jsonIn(scope, () => rights) });
  }

  #resource(scope: Construct, id: string, kind: string, properties: Record<string, string>): CustomResource {
    return new CustomResource(scope, id, {
      resourceType: `Custom::Vertebra${kind}`,
      serviceToken: this.#function.functionArn,
      serviceTimeout: SERVICE_TIMEOUT,
      properties,
    });
  }
}

/** CloudFormation makes texts of numbers and truths: what has types is JSON within a text. */
function jsonIn(scope: IConstruct, value: () => unknown): string {
  return Lazy.string({ produce: () => Stack.of(scope).toJsonString(value()) });
}

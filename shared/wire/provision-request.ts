import type { CloudFormationCustomResourceEvent } from 'aws-lambda';
import { InvalidRequest } from '../domain/errors.ts';
import { grantedPrincipal, type Principal } from '../domain/principal.ts';
import type { OnRemoval } from '../domain/provision.ts';
import type { Rights } from '../domain/rights.ts';
import { type ApiRequest, topicOf } from './http-request.ts';
import { rightsList } from './rights-fields.ts';
import { parseSubscriptionRequest, type SubscriptionRequest, subscriptionOf } from './subscription-requests.ts';
import { parseTopicSettings, type TopicSettings } from './topic-requests.ts';

/*
 * What a stack says of a topic, a subscription or a grant, as properties of a custom resource. CloudFormation makes texts of
 * numbers and truths, so whatever has types is JSON within a text:
 *
 *   Custom::VertebraTopic         name, settings: body of PUT /v1/topics/{topic}, onRemoval
 *   Custom::VertebraSubscription  name, settings: body of PUT /v1/subscriptions/{name}, onRemoval
 *   Custom::VertebraGrant         principal: an ARN, or as principals are written; rights: a list of entries
 */
export type ProvisionEvent = CloudFormationCustomResourceEvent;

/** What is asked for, under the name by which CloudFormation knows the thing: another name is another thing. */
export type ProvisionRequest = {
  readonly isRemoval: boolean;
  readonly physicalId: string;
  /** Stack and resource: who looks after it. */
  readonly owner: string;
} & ProvisionedPart;

export type ProvisionedPart =
  | {
      readonly kind: 'topic';
      readonly name: string;
      readonly onRemoval: OnRemoval;
      readonly settings: TopicSettings;
      readonly before?: TopicSettings;
    }
  | {
      readonly kind: 'subscription';
      readonly name: string;
      readonly onRemoval: OnRemoval;
      readonly wish: SubscriptionRequest;
    }
  | { readonly kind: 'grant'; readonly principal: Principal; readonly rights: readonly Rights[] };

type Properties = Readonly<Record<string, unknown>>;

/** @throws {InvalidRequest} in the words of the API */
export function parseProvisionEvent(event: ProvisionEvent): ProvisionRequest {
  const before = event.RequestType === 'Update' ? event.OldResourceProperties : undefined;
  return {
    isRemoval: event.RequestType === 'Delete',
    physicalId: physicalIdOf(event),
    owner: `${event.StackId} ${event.LogicalResourceId}`,
    ...partOf(event.ResourceType, event.ResourceProperties, before),
  };
}

/** What CloudFormation calls it, whether or not anything comes of the request. */
export function physicalIdOf({ ResourceType, ResourceProperties, LogicalResourceId }: ProvisionEvent): string {
  const { name, principal } = ResourceProperties as Properties;
  const kind = ResourceType.replace('Custom::Vertebra', '').toLowerCase();
  // Who had a grant before has it no more when another has it: that is another thing, too.
  return `${kind}/${String(name ?? principal ?? LogicalResourceId)}`.slice(0, PHYSICAL_ID_CHARS_MAX);
}

/** Source: AWS, CloudFormation, "Custom resource response objects": at most 1 KB; ARNs and names are shorter. */
const PHYSICAL_ID_CHARS_MAX = 1_000;

function partOf(type: string, properties: Properties, before: Properties | undefined): ProvisionedPart {
  if (type === 'Custom::VertebraGrant') {
    const principal = grantedPrincipal(textOf(properties, 'principal'));
    if (principal !== undefined) return { kind: 'grant', principal, rights: rightsOf(properties) };
    throw new InvalidRequest("'principal' must be the ARN of a role or a user, or a principal as grants name it");
  }
  const name = textOf(properties, 'name');
  const request = asRequest(name, textOf(properties, 'settings'));
  if (type === 'Custom::VertebraSubscription') {
    const onRemoval = oneOf(properties, ['unlessNeeded', 'retain', 'delete']);
    return { kind: 'subscription', name: subscriptionOf(request), onRemoval, wish: parseSubscriptionRequest(request) };
  }
  if (type !== 'Custom::VertebraTopic') throw new InvalidRequest(`'${type}' is nothing that is provisioned here`);
  const onRemoval = oneOf(properties, ['retain', 'delete']);
  return {
    ...{ kind: 'topic', name: topicOf(request), onRemoval, settings: parseTopicSettings(request) },
    ...(before && { before: parseTopicSettings(asRequest(name, textOf(before, 'settings'))) }),
  };
}

/** The same as whoever called the API with it. */
function asRequest(name: string, settings: string): ApiRequest {
  return {
    ...{ route: '', method: 'PUT', path: '', rawQuery: '', headers: new Map(), receivedAt: 0 },
    parameters: new Map([
      ['topic', name],
      ['name', name],
    ]),
    readBody: () => Buffer.from(settings),
  };
}

function textOf(properties: Properties, name: string): string {
  const value = properties[name];
  if (typeof value === 'string') return value;
  throw new InvalidRequest(`'${name}' must be a text`, { field: name });
}

function rightsOf(properties: Properties): Rights[] {
  const text = textOf(properties, 'rights');
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new InvalidRequest("'rights' must be JSON", { field: 'rights' });
  }
  return rightsList(value, 'rights');
}

function oneOf(properties: Properties, allowed: readonly [OnRemoval, ...OnRemoval[]]): OnRemoval {
  const value = properties.onRemoval ?? allowed[0];
  const found = allowed.find((candidate) => candidate === value);
  if (found !== undefined) return found;
  throw new InvalidRequest(`'onRemoval' must be one of ${allowed.join(', ')}`, { field: 'onRemoval' });
}

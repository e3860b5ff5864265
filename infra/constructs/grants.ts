import { Annotations, type CfnResource, Stack, Validations } from 'aws-cdk-lib';
import { Grant, type IGrantable, type IPrincipal } from 'aws-cdk-lib/aws-iam';
import type { IFunctionUrl } from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';
import type { Rights } from '../../shared/domain/rights.ts';
import { ROUTE_RIGHTS } from '../../shared/wire/route-rights.ts';
import { ROUTES } from '../../shared/wire/routes.ts';
import type { Provisioner } from './provisioner.ts';

/** Where the SDK finds the backbone without being told. */
const URL_VARIABLE = 'VERTEBRA_URL';

export interface GrantsProps {
  readonly url: string;
  readonly apiId: string;
  /** The API itself: `apiId` is its name in another stack, too. */
  readonly api: CfnResource;
  /** The API's other way, where there is one. */
  readonly wholeUrl: IFunctionUrl | undefined;
  readonly provisioner: () => Provisioner;
}

/**
 * Who may do what. IAM lets a principal through to the routes that its rights concern; what a request names in its body,
 * the functions hold against the same rights, which are stored per principal.
 */
export class Grants extends Construct {
  readonly #props: GrantsProps;
  /** By construct, or by the principal's text. */
  readonly #rights = new Map<IPrincipal | string, Rights[]>();

  constructor(scope: Construct, id: string, props: GrantsProps) {
    super(scope, id);
    this.#props = props;
  }

  get areAny(): boolean {
    return this.#rights.size > 0;
  }

  /** @param principal as grants name it, such as `sub:alice` */
  toPrincipal(principal: string, rights: readonly Rights[]): void {
    this.#store(principal, this, `Of-${principal}`, principal, rights);
  }

  /** To a function, a role or a user: with the way to the API, and to a function also where it is. */
  toGrantee(grantee: IGrantable, rights: readonly Rights[]): void {
    const { grantPrincipal } = grantee;
    const arn = arnOf(grantPrincipal);
    const paths = pathsOf(rights);
    const resourceArns = paths.map((path) => this.#arnOf(path));
    const allowed = Grant.addToPrincipal({ grantee, actions: ['execute-api:Invoke'], resourceArns });
    this.#props.wholeUrl?.grantInvokeUrl(grantee);
    if (!allowed.success) {
      Annotations.of(this).addWarningV2(
        'vertebra:policyNotAttached',
        `No policy can be attached to ${arn}: its owner must allow it execute-api:Invoke.`,
      );
    }
    // What cannot be told from another beside it lies with the principal itself, in its stack.
    const scope = Construct.isConstruct(grantPrincipal) ? grantPrincipal : this;
    this.#acknowledgePatterns(scope, paths);
    this.#store(grantPrincipal, scope, `Grants-${this.node.addr.slice(-8)}`, arn, rights);
    if ('addEnvironment' in grantee && typeof grantee.addEnvironment === 'function') {
      grantee.addEnvironment(URL_VARIABLE, this.#props.url);
    }
  }

  #store(key: IPrincipal | string, scope: Construct, id: string, principal: string, rights: readonly Rights[]): void {
    const known = this.#rights.get(key);
    if (known !== undefined) return void known.push(...rights);
    const granted = [...rights];
    this.#rights.set(key, granted);
    this.#props.provisioner().grant(scope, id, principal, granted);
  }

  /** For cdk-nag, where it knows the API by its logical id: in the same stack. */
  #acknowledgePatterns(scope: Construct, paths: readonly string[]): void {
    const { api } = this.#props;
    if (Stack.of(scope) !== api.stack) return;
    const own = `arn:<AWS::Partition>:execute-api:<AWS::Region>:<AWS::AccountId>:<${api.stack.getLogicalId(api)}>/$default`;
    for (const path of paths.filter((one) => one.includes('*'))) {
      Validations.of(scope).acknowledge({
        id: `AwsSolutions-IAM5[Resource::${own}/${path}]`,
        reason:
          'These are the routes for what the app has granted: names by its own patterns, and numbers and ids below them.',
      });
    }
  }

  #arnOf(path: string): string {
    const { apiId } = this.#props;
    return Stack.of(this).formatArn({ service: 'execute-api', resource: apiId, resourceName: `$default/${path}` });
  }
}

/** Methods and paths of the routes for which these rights may be enough, with patterns where they name something. */
export function pathsOf(rights: readonly Rights[]): string[] {
  const paths = rights.flatMap((entry) => ROUTES.flatMap(({ key }) => pathOf(key, entry) ?? []));
  return [...new Set(paths)];
}

function pathOf(key: (typeof ROUTES)[number]['key'], { allow, ...patterns }: Rights): string | undefined {
  const path = key.replace(' ', '');
  const rule = ROUTE_RIGHTS[key];
  if (rule === 'open' || rule === 'list') return path;
  if (rule === 'everything') {
    const isAll = [patterns.topics, patterns.groups, patterns.targets].every((pattern) => pattern === '*');
    return isAll && allow.includes('admin') ? path.replaceAll(/\{\w+\}/g, '*') : undefined;
  }
  if (rule.right !== 'any' && !allow.includes(rule.right)) return undefined;
  const pattern = rule.path === 'topic' ? patterns.topics : patterns.groups;
  if (pattern === undefined) return undefined;
  const named = rule.path === 'topic' ? /\{topic\}/ : /\{(?:group|name)\}/;
  return path.replace(named, () => pattern).replaceAll(/\{\w+\}/g, '*');
}

function arnOf(principal: IPrincipal): string {
  for (const attribute of ['roleArn', 'userArn', 'arn']) {
    const value: unknown = (principal as unknown as Record<string, unknown>)[attribute];
    if (typeof value === 'string') return value;
  }
  throw new Error('Rights are granted to functions, roles and users: this one has no ARN to be known by.');
}

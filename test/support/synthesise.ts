import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Annotations, App, type Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { BackboneStack } from '../../infra/backbone-stack.ts';
import type { EventBackboneProps } from '../../infra/constructs/backbone-props.ts';

const FLAGS = (JSON.parse(readFileSync('cdk.json', 'utf8')) as { context: Record<string, unknown> }).context;

/** The stack and its template, with the feature flags of `cdk.json` or none. Functions are not bundled. */
export function synthesise(props: EventBackboneProps = {}, { flags = true } = {}) {
  const make = (app: App) => {
    const stack = new BackboneStack(app, 'Vertebra', props);
    // It is about the deployment, and known here.
    Annotations.of(stack).acknowledgeWarning('vertebra:noGrants');
    return stack;
  };
  return synthesised(make, flags ? FLAGS : {});
}

/** A stack of an app and its template, of which no file is left. Functions are not bundled. */
export function synthesised<S extends Stack>(make: (app: App) => S, context = FLAGS) {
  const outdir = mkdtempSync(join(tmpdir(), 'vertebra-synth-'));
  try {
    const unbundled = { ...context, 'aws:cdk:bundling-stacks': [] };
    const stack = make(new App({ outdir, context: unbundled, analyticsReporting: false }));
    return { stack, template: Template.fromStack(stack) };
  } finally {
    rmSync(outdir, { recursive: true });
  }
}

export interface Resource {
  readonly Type: string;
  readonly Properties: Readonly<Record<string, unknown>>;
  readonly DeletionPolicy?: string;
  readonly UpdateReplacePolicy?: string;
}

/** Resources of a type, or all, by logical id. */
export function resourcesOf(template: Template, type?: string): Record<string, Resource> {
  const all = Object.entries(template.toJSON().Resources as Record<string, Resource>);
  return Object.fromEntries(all.filter(([, resource]) => type === undefined || resource.Type === type));
}

interface Statement {
  readonly Effect: 'Allow' | 'Deny';
  readonly Action: string | string[];
  readonly Condition?: { readonly 'ForAllValues:StringLike': { readonly 'dynamodb:LeadingKeys': [string] } };
  /** Resources of the stack: a text or a pattern is not understood, so that no wildcard slips in. */
  readonly Resource: OneResource | readonly OneResource[];
}

type OneResource = Arn & {
  readonly 'Fn::Join'?: readonly [separator: '', parts: readonly [Arn, '/*' | '/dead-letters/*']];
};

interface Arn {
  readonly 'Fn::GetAtt': readonly [id: string, attribute: 'Arn' | 'StreamArn' | 'EventSourceMappingArn'];
}

/** Per function, what its role allows: actions by resource, named as its construct is, and by the keys that are allowed. */
export function allowedActions(template: Template): Record<string, Record<string, string[]>> {
  const policies = Object.values(resourcesOf(template, 'AWS::IAM::Policy'));
  const functions = Object.values(resourcesOf(template, 'AWS::Lambda::Function'));
  return Object.fromEntries(
    functions.map((fn) => {
      const role = (fn.Properties.Role as Arn)['Fn::GetAtt'][0];
      const statements = policies
        .filter((policy) => JSON.stringify(policy.Properties.Roles) === JSON.stringify([{ Ref: role }]))
        .flatMap((policy) => (policy.Properties.PolicyDocument as { Statement: Statement[] }).Statement);
      const rights: Record<string, string[]> = {};
      for (const [resource, actions] of statements.flatMap(byResource)) {
        rights[resource] = [...new Set([...(rights[resource] ?? []), ...actions])].sort();
      }
      return [functionName(fn), rights];
    }),
  );
}

/** What a pattern behind the bucket's ARN stands for. */
const PATTERNS = { '/*': ' objects', '/dead-letters/*': ' dead-letters' } as const;

function byResource({ Resource, ...statement }: Statement): [resource: string, actions: string[]][] {
  return [Resource].flat().map((one) => ofResource(one, statement));
}

function ofResource(
  Resource: OneResource,
  { Effect, Action, Condition, ...more }: Omit<Statement, 'Resource'>,
): [resource: string, actions: string[]] {
  // Either one resource, or objects in the bucket: the bucket's own ARN, and a pattern behind it.
  const inside = Resource['Fn::Join']?.[1];
  const [id, attribute] = inside === undefined ? Resource['Fn::GetAtt'] : inside[0]['Fn::GetAtt'];
  const pattern = inside && PATTERNS[inside[1]];
  const name = /^Backbone(?:Storage)?([A-Za-z]+?)[0-9A-F]{8}$/.exec(id)?.[1];
  if (Effect !== 'Allow' || name === undefined || Object.keys(more).length > 0 || (inside && !pattern)) {
    throw new Error(`a statement that this does not understand, on ${id}`);
  }
  const part = pattern ?? (attribute === 'StreamArn' ? ' stream' : '');
  const keys = Condition?.['ForAllValues:StringLike']['dynamodb:LeadingKeys'];
  return [`${name}${part}${keys === undefined ? '' : ` ${keys}`}`, [Action].flat().sort()];
}

/** The file in `functions/` that a function is built from. */
export function functionName(fn: Resource): string {
  return (fn.Properties.Environment as { Variables: Record<string, string> }).Variables.POWERTOOLS_SERVICE_NAME!;
}

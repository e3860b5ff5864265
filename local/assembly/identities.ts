import { createHash, randomBytes } from 'node:crypto';
import { ACCOUNT } from '../aws/dynamodb/store-view.ts';
import type { Access, Caller } from './access.ts';
import type { Maker } from './deployment.ts';
import { listOf, type Statement } from './policy.ts';

/** A key pair that names who has it. */
export interface KeyPair {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

interface Document {
  readonly PolicyDocument: { readonly Statement: readonly Statement[] };
}

/** What AWS's own policies say that roles of functions come with. Source: AWS, "Managed policies for Lambda features". */
const MANAGED: Readonly<Record<string, readonly string[]>> = {
  AWSLambdaBasicExecutionRole: ['logs:CreateLogGroup', 'logs:CreateLogStream', 'logs:PutLogEvents'],
  AWSXRayDaemonWriteAccess: ['xray:PutTraceSegments', 'xray:PutTelemetryRecords'],
};

export const roleArn = (name: string) => `arn:aws:iam::${ACCOUNT}:role/${name}`;

/** Roles with their policies, and who calls in whose name: each function has a key pair of its own. */
export class Identities {
  readonly #access: Access;
  readonly #callers = new Map<string, Caller>();
  readonly #secrets = new Map<string, string>();

  constructor(access: Access) {
    this.#access = access;
  }

  readonly makers: Readonly<Record<string, Maker>> = {
    'AWS::IAM::Role': async ({ properties, nameOf }) => {
      const name = String(properties.RoleName ?? nameOf(64));
      const arn = roleArn(name);
      const { Policies = [], ManagedPolicyArns = [] } = properties as {
        readonly Policies?: readonly Document[];
        readonly ManagedPolicyArns?: readonly string[];
      };
      for (const { PolicyDocument } of Policies) this.#access.addPolicy(arn, PolicyDocument.Statement);
      for (const managed of ManagedPolicyArns) {
        const Action = MANAGED[managed.split('/').at(-1)!];
        if (!Action) throw new Error(`the role ${name} has the policy ${managed}, which is not known here`);
        this.#access.addPolicy(arn, [{ Effect: 'Allow', Action, Resource: '*' }]);
      }
      return { ref: name, attributes: { Arn: arn, RoleId: name } };
    },
    'AWS::IAM::Policy': async ({ properties, logicalId }) => {
      const { PolicyDocument, Roles } = properties as unknown as Document & { readonly Roles?: string[] };
      for (const role of listOf(Roles)) this.#access.addPolicy(roleArn(role), PolicyDocument.Statement);
      return { ref: logicalId };
    },
  };

  /** A key pair by which `caller` is known from now on. */
  issue(caller: Caller): KeyPair {
    const name = createHash('sha256').update(`${caller.role} ${caller.function}`).digest('hex').toUpperCase();
    const pair = { accessKeyId: `ASIA${name.slice(0, 16)}`, secretAccessKey: randomBytes(20).toString('hex') };
    this.take(pair, caller);
    return pair;
  }

  /** Knows `caller` by a key pair that somebody has. */
  take({ accessKeyId, secretAccessKey }: KeyPair, caller: Caller): void {
    this.#callers.set(accessKeyId, caller);
    this.#secrets.set(accessKeyId, secretAccessKey);
  }

  callerOf(accessKeyId: string): Caller | undefined {
    return this.#callers.get(accessKeyId);
  }

  secretOf(accessKeyId: string): string | undefined {
    return this.#secrets.get(accessKeyId);
  }
}

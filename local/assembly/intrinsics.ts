import { ACCOUNT, REGION } from '../aws/dynamodb/store-view.ts';

/** What intrinsic functions refer to. */
export interface Names {
  readonly stackName: string;
  ref(logicalId: string): Promise<unknown>;
  attribute(logicalId: string, name: string): Promise<unknown>;
  /** The output that some stack exports under this name. */
  imported(name: string): Promise<unknown>;
  /** An output of a stack, by its name. */
  output(stackName: string, name: string): Promise<unknown>;
  /** The expression of a condition. */
  condition(name: string): unknown;
}

const ABSENT = Symbol('AWS::NoValue');

type Evaluate = (argument: unknown, names: Names) => Promise<unknown>;

const FUNCTIONS: Readonly<Record<string, Evaluate>> = {
  Ref: async (argument, names) => pseudo(String(argument), names) ?? names.ref(String(argument)),
  'Fn::GetAtt': async (argument, names) => {
    const [id, ...path] = Array.isArray(argument) ? argument : String(argument).split('.');
    return names.attribute(String(id), path.join('.'));
  },
  'Fn::Join': async (argument, names) => {
    const [separator, parts] = (await resolveValue(argument, names)) as [string, unknown[]];
    return parts.map(String).join(separator);
  },
  'Fn::Split': async (argument, names) => {
    const [separator, text] = (await resolveValue(argument, names)) as [string, string];
    return text.split(separator);
  },
  'Fn::Select': async (argument, names) => {
    const [index, list] = (await resolveValue(argument, names)) as [number | string, unknown[]];
    return list[Number(index)];
  },
  'Fn::Sub': substitute,
  'Fn::ImportValue': async (argument, names) => names.imported(String(await resolveValue(argument, names))),
  'Fn::GetStackOutput': async (argument, names) => {
    const { StackName, OutputName } = (await resolveValue(argument, names)) as Record<string, string>;
    return names.output(StackName!.split('/')[1] ?? StackName!, OutputName!);
  },
  'Fn::If': async (argument, names) => {
    const [condition, then, otherwise] = argument as [string, unknown, unknown];
    return resolve((await holds({ Condition: condition }, names)) ? then : otherwise, names);
  },
  'Fn::GetAZs': async () => ['a', 'b', 'c'].map((zone) => `${REGION}${zone}`),
};

/**
 * A value of a template with its intrinsic functions done. What is `AWS::NoValue` is left out.
 * @throws {Error} naming a function that is not known here
 */
export async function resolveValue(value: unknown, names: Names): Promise<unknown> {
  const resolved = await resolve(value, names);
  return resolved === ABSENT ? undefined : resolved;
}

async function resolve(value: unknown, names: Names): Promise<unknown> {
  if (Array.isArray(value)) {
    const items = await Promise.all(value.map((item) => resolve(item, names)));
    return items.filter((item) => item !== ABSENT);
  }
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value);
  const [name, argument] = entries[0] ?? [''];
  if (entries.length === 1 && (name === 'Ref' || name.startsWith('Fn::'))) {
    const evaluate = FUNCTIONS[name];
    if (!evaluate) throw new Error(`the template uses ${name}, which is not known here`);
    return evaluate(argument, names);
  }
  const resolved = await Promise.all(entries.map(async ([key, item]) => [key, await resolve(item, names)] as const));
  return Object.fromEntries(resolved.filter(([, item]) => item !== ABSENT));
}

/** `${Id}`, `${Id.Attribute}`, `${!literal}`; with a map of more names beside the text. */
async function substitute(argument: unknown, names: Names): Promise<string> {
  const [text, own] = Array.isArray(argument)
    ? (argument as [string, Record<string, unknown>])
    : [String(argument), {}];
  const parts = text.split(/\$\{([^}]*)\}/);
  const values = parts.map(async (part, i) => {
    if (i % 2 === 0) return part;
    if (part.startsWith('!')) return `\${${part.slice(1)}}`;
    if (Object.hasOwn(own, part)) return resolveValue(own[part], names);
    return part.includes('.') ? FUNCTIONS['Fn::GetAtt']!(part, names) : FUNCTIONS.Ref!(part, names);
  });
  return (await Promise.all(values)).join('');
}

/** Whether a condition of a template holds. */
export async function holds(expression: unknown, names: Names): Promise<boolean> {
  const [name, argument] = Object.entries(expression as object)[0] as [string, unknown];
  switch (name) {
    case 'Condition':
      return holds(names.condition(String(argument)), names);
    case 'Fn::Equals': {
      const [left, right] = (await resolveValue(argument, names)) as [unknown, unknown];
      return String(left) === String(right);
    }
    case 'Fn::Not':
      return !(await holds((argument as unknown[])[0], names));
    case 'Fn::And':
      return (await Promise.all((argument as unknown[]).map((each) => holds(each, names)))).every(Boolean);
    case 'Fn::Or':
      return (await Promise.all((argument as unknown[]).map((each) => holds(each, names)))).some(Boolean);
    default:
      throw new Error(`the template uses the condition ${name}, which is not known here`);
  }
}

function pseudo(name: string, { stackName }: Names): unknown {
  switch (name) {
    case 'AWS::AccountId':
      return ACCOUNT;
    case 'AWS::Region':
      return REGION;
    case 'AWS::Partition':
      return 'aws';
    case 'AWS::URLSuffix':
      return 'amazonaws.com';
    case 'AWS::StackName':
      return stackName;
    case 'AWS::StackId':
      return stackIdOf(stackName);
    case 'AWS::NoValue':
      return ABSENT;
    default:
      return undefined;
  }
}

/** As CloudFormation names a stack to custom resources. */
export const stackIdOf = (stackName: string) => `arn:aws:cloudformation:${REGION}:${ACCOUNT}:stack/${stackName}/local`;

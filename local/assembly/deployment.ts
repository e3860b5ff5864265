import { createHash } from 'node:crypto';
import type { AssembledStack, DeclaredResource } from './cloud-assembly.ts';
import { holds, type Names, resolveValue } from './intrinsics.ts';

/** What a resource is to those that refer to it. */
export interface Made {
  readonly ref: string;
  readonly attributes?: Readonly<Record<string, unknown>>;
}

/** One resource, its properties resolved. */
export interface Wanted<Properties = Readonly<Record<string, unknown>>> {
  readonly stack: AssembledStack;
  readonly logicalId: string;
  readonly type: string;
  readonly properties: Properties;
  /** A physical name that no other resource has. */
  nameOf(lengthMax: number): string;
}

/** Makes resources of one type. */
export type Maker = (wanted: Wanted) => Promise<Made>;

/**
 * Makes what the templates of an assembly declare: what is referred to, or depended on, comes first. Each resource is made
 * once; those of a type that has no maker are `strangers`, and get a made-up name.
 */
export class Deployment {
  readonly #stacks: readonly AssembledStack[];
  readonly #maker: (type: string) => Maker | undefined;
  readonly #made = new Map<string, Promise<Made | undefined>>();
  /** Types that are declared and mean nothing here. */
  readonly strangers = new Set<string>();

  /** @param maker of a type; undefined: nothing is made of it */
  constructor(stacks: readonly AssembledStack[], maker: (type: string) => Maker | undefined) {
    this.#stacks = stacks;
    this.#maker = maker;
  }

  /** Makes all resources for which `choose` says so, and what they need. */
  async make(choose: (type: string) => boolean): Promise<void> {
    for (const stack of this.#stacks) {
      for (const [logicalId, { Type }] of Object.entries(stack.template.Resources)) {
        if (choose(Type)) await this.#one(stack, logicalId);
      }
    }
  }

  /** All that was made, by `<stack>/<logical id>`. */
  async resources(): Promise<ReadonlyMap<string, Made>> {
    const made = await Promise.all([...this.#made].map(async ([key, each]) => [key, await each] as const));
    return new Map(made.flatMap(([key, each]): [string, Made][] => (each ? [[key, each]] : [])));
  }

  /** The outputs of all stacks, by stack and name. */
  async outputs(): Promise<ReadonlyMap<string, Readonly<Record<string, unknown>>>> {
    const outputs = new Map<string, Readonly<Record<string, unknown>>>();
    for (const stack of this.#stacks) {
      const names = Object.keys(stack.template.Outputs ?? {});
      const values = await Promise.all(names.map((name) => this.#output(stack, name)));
      outputs.set(stack.name, Object.fromEntries(names.map((name, i) => [name, values[i]])));
    }
    return outputs;
  }

  #one(stack: AssembledStack, logicalId: string): Promise<Made | undefined> {
    const key = `${stack.name}/${logicalId}`;
    const known = this.#made.get(key);
    if (known) return known;
    const resource = stack.template.Resources[logicalId];
    if (!resource) throw new Error(`the template of ${stack.name} refers to ${logicalId}, which it does not declare`);
    const made = this.#begin(stack, logicalId, resource);
    this.#made.set(key, made);
    return made;
  }

  /** @returns undefined when the resource's condition does not hold */
  async #begin(stack: AssembledStack, logicalId: string, resource: DeclaredResource): Promise<Made | undefined> {
    const names = this.#names(stack);
    const { Type: type, Condition, DependsOn = [] } = resource;
    if (Condition !== undefined && !(await holds({ Condition }, names))) return undefined;
    for (const other of [DependsOn].flat()) await this.#one(stack, other);
    const properties = (await resolveValue(resource.Properties ?? {}, names)) as Wanted['properties'];
    const nameOf = (lengthMax: number) => physicalName(stack.name, logicalId, lengthMax);
    const maker = this.#maker(type);
    if (maker) return maker({ stack, logicalId, type, properties, nameOf });
    this.strangers.add(type);
    return { ref: nameOf(128) };
  }

  #names(stack: AssembledStack): Names {
    return {
      stackName: stack.name,
      ref: async (logicalId) => {
        const parameter = stack.template.Parameters?.[logicalId];
        return parameter ? parameter.Default : (await this.#one(stack, logicalId))?.ref;
      },
      attribute: async (logicalId, name) => {
        const made = await this.#one(stack, logicalId);
        return made?.attributes?.[name] ?? `${made?.ref}.${name}`;
      },
      imported: async (name) => {
        for (const exporter of this.#stacks) {
          for (const [output, { Export }] of Object.entries(exporter.template.Outputs ?? {})) {
            const exported = Export && (await resolveValue(Export.Name, this.#names(exporter)));
            if (exported === name) return this.#output(exporter, output);
          }
        }
        throw new Error(`no stack of the assembly exports ${name}`);
      },
      output: async (stackName, name) => {
        const other = this.#stacks.find((candidate) => candidate.name === stackName);
        if (!other) throw new Error(`the assembly has no stack ${stackName}`);
        return this.#output(other, name);
      },
      condition: (name) => stack.template.Conditions?.[name],
    };
  }

  #output(stack: AssembledStack, name: string): Promise<unknown> {
    return resolveValue(stack.template.Outputs?.[name]?.Value, this.#names(stack));
  }
}

/** `<stack>-<logical id>`, cut and told apart by a hash when that is too long. */
function physicalName(stackName: string, logicalId: string, lengthMax: number): string {
  const name = `${stackName}-${logicalId}`;
  if (name.length <= lengthMax) return name;
  const hash = createHash('sha256').update(name).digest('hex').slice(0, 8);
  return `${name.slice(0, lengthMax - 9)}-${hash}`;
}

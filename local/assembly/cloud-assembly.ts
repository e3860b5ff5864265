import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Refusal } from '../refusal.ts';

/** One resource as a template declares it; properties may hold intrinsic functions. */
export interface DeclaredResource {
  readonly Type: string;
  readonly Properties?: Readonly<Record<string, unknown>>;
  readonly DependsOn?: string | readonly string[];
  readonly Condition?: string;
}

/** What is read of a CloudFormation template. */
export interface Template {
  readonly Resources: Readonly<Record<string, DeclaredResource>>;
  readonly Outputs?: Readonly<
    Record<string, { readonly Value: unknown; readonly Export?: { readonly Name: unknown } }>
  >;
  readonly Parameters?: Readonly<Record<string, { readonly Default?: unknown }>>;
  readonly Conditions?: Readonly<Record<string, unknown>>;
}

export interface AssembledStack {
  readonly name: string;
  readonly template: Template;
  /** Folders and files of assets, by the key that they have in the bucket of a deployment. */
  readonly assets: ReadonlyMap<string, string>;
}

interface Manifest {
  readonly artifacts?: Readonly<Record<string, Artifact>>;
}
interface Artifact {
  readonly type: string;
  readonly properties?: { readonly templateFile?: string; readonly stackName?: string; readonly file?: string };
}
interface AssetManifest {
  readonly files?: Readonly<
    Record<
      string,
      {
        readonly source: { readonly path?: string };
        readonly destinations: Readonly<Record<string, { readonly objectKey: string }>>;
      }
    >
  >;
}

/**
 * Reads what `cdk synth` wrote: every stack with its template, and where the packages of its functions lie.
 * @throws {Refusal} when the folder holds no assembly, or none with a stack
 */
export function readCloudAssembly(folder: string): readonly AssembledStack[] {
  const path = resolve(folder);
  const { artifacts = {} } = readJson<Manifest>(join(path, 'manifest.json'), folder);
  const assets = new Map<string, string>();
  for (const { type, properties } of Object.values(artifacts)) {
    if (type !== 'cdk:asset-manifest' || properties?.file === undefined) continue;
    const { files = {} } = readJson<AssetManifest>(join(path, properties.file), folder);
    for (const { source, destinations } of Object.values(files)) {
      for (const { objectKey } of Object.values(destinations)) {
        if (source.path !== undefined) assets.set(objectKey, join(path, source.path));
      }
    }
  }
  const stacks = Object.entries(artifacts)
    .filter(([, { type }]) => type === 'aws:cloudformation:stack')
    .map(([id, { properties }]) => ({
      name: properties?.stackName ?? id,
      template: readJson<Template>(join(path, properties?.templateFile ?? `${id}.template.json`), folder),
      assets,
    }));
  if (stacks.length === 0) throw new Refusal(`${folder} holds no stack: run "npx cdk synth" first`);
  return stacks;
}

function readJson<T>(file: string, folder: string): T {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as T;
  } catch (error) {
    throw new Refusal(
      `${folder} is no folder that "cdk synth" wrote (${(error as Error).message}): run "npx cdk synth" first`,
    );
  }
}

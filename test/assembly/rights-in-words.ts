import type { Denial, Grant } from '../../local/assembly/access.ts';
import type { AssemblyServer } from '../../local/assembly/assembly-server.ts';

/** Rights as a person reads them: `Deliver  s3:GetObject  StorageBucket/*`, by the constructs of the stack. */
export function inWords({ resources, access }: AssemblyServer) {
  const names = new Map<string, string>();
  for (const [key, { ref, attributes = {} }] of resources) {
    // `Vertebra/BackboneStorageLog8821B302` → `StorageLog`
    const name = key
      .replace(/^[^/]+\//, '')
      .replace(/[0-9A-F]{8}$/, '')
      .replace(/^Backbone/, '');
    for (const value of [ref, ...Object.values(attributes)]) names.set(String(value), name);
  }
  const known = [...names].sort(([one], [other]) => other.length - one.length);
  /** The longest name that an ARN begins with, and what is behind it. */
  const short = (arn: string) => {
    const [found, name] = known.find(([each]) => arn.startsWith(each)) ?? ['', ''];
    return name + arn.slice(found.length);
  };
  const whose = (role: string | undefined) => short(role ?? '').replace(/(?:Service)?Role$/, '');
  const grant = ({ role, action, resource, conditions }: Grant) =>
    [whose(role), action, short(resource), ...(conditions ? [JSON.stringify(conditions)] : [])].join('  ');
  const denial = ({ caller, right }: Denial) =>
    [short(caller.function), right.action, short(right.resource), ...Object.values(right.facts ?? {})].join('  ');
  return {
    /** What no call needed: without it everything would have been allowed all the same. */
    surplus: () => access.grants.filter(({ needed }) => !needed).map(grant),
    /** What was called and not allowed, each once. */
    lack: () => [...new Set(access.denials.map(denial))],
  };
}

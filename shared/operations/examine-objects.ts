import type { Clock } from '../domain/clock.ts';
import type { GroupId } from '../domain/group.ts';
import { LATE_MAX_MS, LIST_LIMIT_MAX } from '../domain/limits.ts';
import type { Page } from '../domain/topic.ts';
import type { Findings } from './findings.ts';

/** An object of the bucket, as it is listed. */
export interface StoredObject {
  readonly key: string;
  /** Bytes. */
  readonly size: number;
  /** Epoch ms. */
  readonly at: number;
  /** The id of the group whose dead letter it holds, if it is one. */
  readonly groupId?: string;
}

export interface ObjectExaminationPorts {
  readonly objects: {
    list(after?: string): Promise<Page<StoredObject>>;
    /** Those that nothing in the tables stands for. @param groupNames by id, of the groups of these objects */
    withoutOwner(
      objects: readonly StoredObject[],
      groupNames: ReadonlyMap<string, string>,
    ): Promise<readonly StoredObject[]>;
  };
  readonly groups: {
    list(limit: number, after?: string): Promise<Page<GroupId>>;
    listDeleted(limit: number): Promise<readonly GroupId[]>;
  };
  readonly clock: Clock;
}

/** Finds objects whose item is gone, by listing the bucket. */
export async function examineObjects(
  ports: ObjectExaminationPorts,
  looksMax: number,
  findings: Findings,
): Promise<void> {
  const names = new GroupNames(ports);
  await findings.attempt('bucket', async () => {
    for (let after: string | undefined; ; ) {
      const { items, next } = await ports.objects.list(after);
      const now = ports.clock.now();
      // An append that is under way may yet put the item.
      const old = items.filter(({ at }) => now - at > LATE_MAX_MS);
      const groupNames = await names.of(old.flatMap(({ groupId }) => groupId ?? []));
      for (const { key, size, at } of await ports.objects.withoutOwner(old, groupNames)) {
        const detail = `${size} bytes, of ${new Date(at).toISOString()}`;
        findings.add({ code: 'object_orphaned', subject: `object ${key}`, detail, data: { size, at } });
      }
      findings.looked('objects', items.length);
      if (next === undefined) return;
      if (findings.countOf('objects') >= looksMax) {
        return findings.leave('bucket', `only the first ${findings.countOf('objects')} objects were gone through`);
      }
      after = next;
    }
  });
}

/** Names of the groups that dead letters are kept of: they are part of keys, and objects tell ids alone. */
class GroupNames {
  readonly #ports: ObjectExaminationPorts;
  readonly #known = new Map<string, string | undefined>();

  constructor(ports: ObjectExaminationPorts) {
    this.#ports = ports;
  }

  async of(ids: readonly string[]): Promise<Map<string, string>> {
    const asked = new Set(ids);
    const unknown = new Set([...asked].filter((id) => !this.#known.has(id)));
    if (unknown.size > 0) await this.#findAll(unknown);
    return new Map([...asked].flatMap((id) => (this.#known.get(id) === undefined ? [] : [[id, this.#known.get(id)!]])));
  }

  /** One pass over all groups for all that a page of objects brings: groups are many, and those with such objects few. */
  async #findAll(ids: ReadonlySet<string>): Promise<void> {
    for (const id of ids) this.#known.set(id, undefined);
    const note = (groups: readonly GroupId[]) => {
      for (const { id, name } of groups) if (ids.has(id)) this.#known.set(id, name);
    };
    note(await this.#ports.groups.listDeleted(LIST_LIMIT_MAX));
    for (let after: string | undefined; ; ) {
      const { items, next } = await this.#ports.groups.list(LIST_LIMIT_MAX, after);
      note(items);
      if (next === undefined) return;
      after = next;
    }
  }
}

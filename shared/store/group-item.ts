import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import type { Group } from '../domain/group.ts';
import { itemKey } from './item-key.ts';
import { deletedGroupKey, groupEntryKey, groupKey, LAYOUT_VERSION, refuseUnknownLayout } from './keys.ts';

type Item = Record<string, AttributeValue>;

export function groupItem(group: Group): Item {
  return {
    ...itemKey(groupKey(group.name)),
    v: { N: LAYOUT_VERSION },
    id: { S: group.id },
    createdAt: { N: String(group.createdAt) },
    version: { N: String(group.version) },
    checkAt: { N: String(group.checkAt) },
    busyUntil: { N: String(group.busyUntil) },
    ...(group.isSubscription && { subscription: { BOOL: true } }),
  };
}

/** By which it stands in the list of groups. */
export function groupEntryItem({ name, id, createdAt }: Pick<Group, 'name' | 'id' | 'createdAt'>): Item {
  return {
    ...itemKey(groupEntryKey(name)),
    v: { N: LAYOUT_VERSION },
    id: { S: id },
    createdAt: { N: String(createdAt) },
  };
}

/** By which whoever purges finds what it left. @param at epoch ms of its deletion */
export function deletedGroupItem({ name, id }: Pick<Group, 'name' | 'id'>, at: number): Item {
  return {
    ...itemKey(deletedGroupKey(id)),
    v: { N: LAYOUT_VERSION },
    name: { S: name },
    at: { N: String(at) },
  };
}

/** @throws {UnknownLayout} */
export function toGroup(name: string, item: Item): Group {
  refuseUnknownLayout(item);
  return {
    name,
    id: item.id!.S!,
    createdAt: Number(item.createdAt!.N),
    version: Number(item.version!.N),
    checkAt: Number(item.checkAt!.N),
    busyUntil: Number(item.busyUntil!.N),
    ...redrivesIn(item),
    ...(item.subscription?.BOOL && { isSubscription: true }),
  };
}

function redrivesIn({ redrivesAt, redrivesFailed, redrivesStoppedAt }: Item): Pick<Group, 'redrives'> {
  if (redrivesAt === undefined && redrivesFailed === undefined && redrivesStoppedAt === undefined) return {};
  return {
    redrives: {
      ...(redrivesAt && { at: Number(redrivesAt.N) }),
      ...(redrivesFailed && { failed: Number(redrivesFailed.N) }),
      ...(redrivesStoppedAt && { stoppedAt: Number(redrivesStoppedAt.N) }),
    },
  };
}

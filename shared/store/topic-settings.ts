import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { isSameMaxLag, isSameQuota, type MaxLag, type Quota, type Rates } from '../domain/quota.ts';
import type { Topic } from '../domain/topic.ts';
import type { Item } from './item-key.ts';

/*
 * What holds appends back, in a topic's item; each is there only where it is set:
 *
 *   quota    {bytesPerSecond?, recordsPerSecond?, perCaller?: {bytesPerSecond?, recordsPerSecond?}}
 *   maxLag   {groups: [names], records}
 */
type BackPressure = Pick<Topic, 'quota' | 'maxLag'>;

export function backPressureItem({ quota, maxLag }: BackPressure): Item {
  return { ...(quota && { quota: ofQuota(quota) }), ...(maxLag && { maxLag: ofMaxLag(maxLag) }) };
}

/** What an update says of it: nothing of what stays as it was, since that may have been changed meanwhile. */
export function backPressureChange(
  before: BackPressure,
  after: BackPressure,
): { readonly sets: string; readonly removes: readonly string[]; readonly values: Item } {
  const names = [
    ...(isSameQuota(before.quota, after.quota) ? [] : ['quota']),
    ...(isSameMaxLag(before.maxLag, after.maxLag) ? [] : ['maxLag']),
  ];
  const item = backPressureItem(after);
  const set = names.filter((name) => item[name] !== undefined);
  return {
    sets: set.map((name) => `, ${name} = :${name}`).join(''),
    removes: names.filter((name) => item[name] === undefined),
    values: Object.fromEntries(set.map((name) => [`:${name}`, item[name]!])),
  };
}

export function toBackPressure({ quota, maxLag }: Item): BackPressure {
  return { ...(quota?.M && { quota: toQuota(quota.M) }), ...(maxLag?.M && { maxLag: toMaxLag(maxLag.M) }) };
}

function ofQuota({ perCaller, ...rates }: Quota): AttributeValue {
  return { M: { ...ofRates(rates), ...(perCaller && { perCaller: { M: ofRates(perCaller) } }) } };
}

function ofRates({ bytesPerSecond, recordsPerSecond }: Rates): Item {
  return {
    ...(bytesPerSecond !== undefined && { bytesPerSecond: { N: String(bytesPerSecond) } }),
    ...(recordsPerSecond !== undefined && { recordsPerSecond: { N: String(recordsPerSecond) } }),
  };
}

function ofMaxLag({ groups, records }: MaxLag): AttributeValue {
  return { M: { groups: { L: groups.map((name) => ({ S: name })) }, records: { N: String(records) } } };
}

function toQuota({ perCaller, ...rates }: Item): Quota {
  return { ...toRates(rates), ...(perCaller?.M && { perCaller: toRates(perCaller.M) }) };
}

function toRates({ bytesPerSecond, recordsPerSecond }: Item): Rates {
  return {
    ...(bytesPerSecond && { bytesPerSecond: Number(bytesPerSecond.N) }),
    ...(recordsPerSecond && { recordsPerSecond: Number(recordsPerSecond.N) }),
  };
}

function toMaxLag({ groups, records }: Item): MaxLag {
  return { groups: groups!.L!.map(({ S }) => S!), records: Number(records!.N) };
}

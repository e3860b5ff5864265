import { refuseName } from './names.ts';

/** How much may be appended in a second. */
export interface TopicRates {
  /** Of batches as they are stored. */
  readonly bytesPerSecond?: number | undefined;
  readonly recordsPerSecond?: number | undefined;
}

/** What holds appends to a topic back. */
export interface TopicLimits {
  /** By all together, and by each caller alone. Default: as much as comes. */
  readonly quota?: (TopicRates & { readonly perCaller?: TopicRates | undefined }) | undefined;
  /** Appends wait while one of these groups is more than so many records behind. Default: for nobody. */
  readonly maxLag?: { readonly groups: readonly string[]; readonly records: number } | undefined;
}

/** As in the body of the API's PUT. @throws {Error} naming the topic and what it cannot have */
export function limitsOf(name: string, { quota, maxLag }: TopicLimits): object {
  if (quota !== undefined) {
    const { perCaller, ...rates } = quota;
    refuseRates(name, 'quota', { ...rates, ...(perCaller && { perCaller: 1 }) });
    if (perCaller !== undefined) refuseRates(name, 'quota per caller', { ...perCaller });
  }
  if (maxLag !== undefined) {
    for (const group of maxLag.groups) refuseName('group', group);
    refuseRates(name, 'maxLag', { groups: maxLag.groups.length, records: maxLag.records });
  }
  return { ...(quota && { quota }), ...(maxLag && { maxLag }) };
}

function refuseRates(name: string, what: string, rates: Readonly<Record<string, number | undefined>>): void {
  const given = Object.entries(rates).filter(([, rate]) => rate !== undefined);
  if (given.length === 0) throw new Error(`The ${what} of topic '${name}' limits nothing.`);
  const odd = given.find(([, rate]) => !Number.isSafeInteger(rate) || rate! < 1);
  if (odd)
    throw new Error(`The ${what} of topic '${name}' needs a whole number of ${odd[0]}, 1 or more, not ${odd[1]}.`);
}

/** One field's wishes, or those of the fields in it. */
type Pattern = { readonly [field: string]: readonly unknown[] | Pattern };

/**
 * Whether an event is as a filter of an event source says: each field has one of the listed values. Lambda knows more than
 * equality (prefixes, numbers, …); none of it is known here.
 * @throws {Error} when the filter says more than that
 */
export function matchesPattern(event: unknown, pattern: Pattern): boolean {
  return Object.entries(pattern).every(([field, wishes]) => {
    const value = (event as Readonly<Record<string, unknown>> | undefined)?.[field];
    if (!Array.isArray(wishes)) return matchesPattern(value, wishes as Pattern);
    const unknown = wishes.find((wish) => typeof wish === 'object' && wish !== null);
    if (unknown) throw new Error(`a filter says ${JSON.stringify(unknown)}, which is not known here`);
    return wishes.includes(value ?? null);
  });
}

/** An event source's filters: any of them lets an event through, and none lets all through. */
export function filterOf(criteria: { readonly Filters?: readonly { readonly Pattern: string }[] } | undefined) {
  const patterns = (criteria?.Filters ?? []).map(({ Pattern }) => JSON.parse(Pattern) as Pattern);
  return (event: unknown) => patterns.length === 0 || patterns.some((pattern) => matchesPattern(event, pattern));
}

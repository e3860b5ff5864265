/** One or several, as policies spell lists. */
type Listed = string | readonly string[];

/** A statement of an IAM policy, its intrinsic functions done. */
export interface Statement {
  readonly Effect: 'Allow' | 'Deny';
  readonly Action: Listed;
  /** Absent in policies of a resource that stand for it alone. */
  readonly Resource?: Listed;
  /** In policies of resources: whom it is about. */
  readonly Principal?: '*' | Readonly<Record<string, Listed>>;
  readonly Condition?: Conditions;
}
export type Conditions = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** What a request needs to be allowed. */
export interface Right {
  /** `dynamodb:PutItem` */
  readonly action: string;
  readonly resource: string;
  /** What conditions look at, by the names of their keys: `dynamodb:LeadingKeys` and the like. */
  readonly facts?: Readonly<Record<string, readonly string[]>>;
}

export const listOf = (value: Listed | undefined): readonly string[] => (value === undefined ? [] : [value].flat());

/** Facts of every request: what is plain HTTP on loopback stands for TLS. */
const COMMON_FACTS = { 'aws:SecureTransport': ['true'], 's3:TlsVersion': ['1.3'] };

/** Source: AWS, IAM, "JSON policy elements: Condition operators". Each is asked of one fact and one wanted value. */
const OPERATORS: Readonly<Record<string, (fact: string, wanted: string) => boolean>> = {
  StringEquals: (fact, wanted) => fact === wanted,
  StringNotEquals: (fact, wanted) => fact !== wanted,
  StringLike: like,
  StringNotLike: (fact, wanted) => !like(fact, wanted),
  ArnEquals: like,
  ArnLike: like,
  Bool: (fact, wanted) => fact === wanted,
  NumericEquals: (fact, wanted) => Number(fact) === Number(wanted),
  NumericLessThan: (fact, wanted) => Number(fact) < Number(wanted),
  NumericLessThanEquals: (fact, wanted) => Number(fact) <= Number(wanted),
  NumericGreaterThan: (fact, wanted) => Number(fact) > Number(wanted),
  NumericGreaterThanEquals: (fact, wanted) => Number(fact) >= Number(wanted),
};

/** Whether a pattern of actions, in which case does not matter, covers an action. */
export function coversAction(pattern: string, action: string): boolean {
  return like(action.toLowerCase(), pattern.toLowerCase());
}

/** Whether text is as a pattern with `*` and `?` says. */
export function like(text: string, pattern: string): boolean {
  let expression = PATTERNS.get(pattern);
  if (!expression) {
    const escaped = pattern.replace(/[.+^${}()|[\]\\]/g, '\\$&');
    expression = new RegExp(`^${escaped.replaceAll('*', '.*').replaceAll('?', '.')}$`, 's');
    PATTERNS.set(pattern, expression);
  }
  return expression.test(text);
}

/** Patterns of the templates that this process has read. */
const PATTERNS = new Map<string, RegExp>();

/**
 * Whether all conditions hold. As in IAM a fact that is not there fails a condition, but for `…IfExists` and
 * `ForAllValues`, which hold of nothing.
 * @throws {Error} naming an operator that is not known here
 */
export function meets(conditions: Conditions | undefined, facts: Right['facts']): boolean {
  return Object.entries(conditions ?? {}).every(([operator, wishes]) =>
    Object.entries(wishes).every(([key, wished]) => {
      const values = facts?.[key] ?? COMMON_FACTS[key as keyof typeof COMMON_FACTS];
      return meetsOne(operator, values, [wished].flat().map(String));
    }),
  );
}

function meetsOne(operator: string, facts: readonly string[] | undefined, wanted: readonly string[]): boolean {
  const [, set, name, ifExists] = /^(?:(ForAllValues|ForAnyValue):)?(\w+?)(IfExists)?$/.exec(operator) ?? [];
  if (name === 'Null') return String(facts === undefined) === wanted[0];
  const test = OPERATORS[name ?? ''];
  if (!test) throw new Error(`a policy of the template has the condition ${operator}, which is not known here`);
  if (facts === undefined) return ifExists !== undefined || set === 'ForAllValues';
  const negated = name!.includes('Not');
  const one = (fact: string) =>
    negated ? wanted.every((each) => test(fact, each)) : wanted.some((each) => test(fact, each));
  return set === 'ForAnyValue' ? facts.some(one) : facts.every(one);
}

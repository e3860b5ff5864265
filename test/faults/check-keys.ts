import { type AppendCall, type Indexed, logOf, nameOf, partsOf, type Violation } from './history.ts';

/** The promises of `Idempotency-Key`: once, the same answer to all, and no other request under the same key. */
export function checkKeys(history: Indexed): Violation[] {
  const groups = new Map<string, AppendCall[]>();
  for (const call of history.appends) {
    if (call.once === undefined) continue;
    const name = `${call.topic} ${call.once.key}`;
    const group = groups.get(name) ?? [];
    groups.set(name, group);
    group.push(call);
  }
  return [...groups.values()].flatMap((calls) => [
    ...checkOnce(calls, history),
    ...checkAnswers(calls, history),
    ...checkReuse(calls, history),
  ]);
}

/** Calls that may have met a key which was forgotten by then: each may store once more. */
function afterLife(calls: readonly AppendCall[]): number {
  const first = Math.min(...calls.map(({ begin }) => begin));
  return calls.filter(({ end, once }) => (end ?? Number.POSITIVE_INFINITY) >= first + once!.lifeMs && calls.length > 1)
    .length;
}

function checkOnce(calls: readonly AppendCall[], { places }: Indexed): Violation[] {
  const most = 1 + afterLife(calls);
  const found: Violation[] = [];
  for (const record of new Set(calls.flatMap(({ records }) => records))) {
    const copies = new Map<string, string[]>();
    for (const { batch, offset } of places.get(record) ?? []) {
      copies.set(batch.topicId, [...(copies.get(batch.topicId) ?? []), `${logOf(batch)}@${offset}`]);
    }
    for (const where of copies.values()) {
      if (where.length <= most) continue;
      found.push({ kind: 'duplicate', what: `${record} has a key and is at ${where.join(', ')}` });
    }
  }
  return found;
}

/** Offsets that were acknowledged once never change, and every caller is told the same. */
function checkAnswers(calls: readonly AppendCall[], { places }: Indexed): Violation[] {
  if (afterLife(calls) > 0) return [];
  const told = new Map<string, string>();
  const found: Violation[] = [];
  for (const call of calls) {
    for (const part of partsOf(call)) {
      if ('error' in part) continue;
      const record = part.records[0]!;
      const there = (places.get(record) ?? []).filter(
        ({ batch, offset }) => offset === part.base && batch.partition === part.partition,
      );
      // In two incarnations at the same offset: which of them answered cannot be told.
      const [place] = there;
      if (place === undefined || there.length > 1) continue;
      const name = `${place.batch.topicId} ${record}`;
      const answer = `${part.partition}@${part.base} at ${part.at}`;
      const other = told.get(name) ?? answer;
      if (other !== answer) found.push({ kind: 'answers differ', what: `${record}: ${other}, then ${answer}` });
      told.set(name, answer);
    }
  }
  return found;
}

function checkReuse(calls: readonly AppendCall[], { places }: Indexed): Violation[] {
  const found: Violation[] = [];
  for (const call of calls) {
    if (call.answer === undefined || !('error' in call.answer)) continue;
    if (call.answer.error !== 'idempotency_key_reused') continue;
    const other = calls.some(({ once, begin }) => once!.fingerprint !== call.once!.fingerprint && begin <= call.end!);
    if (!other) found.push({ kind: 'key refused without reason', what: nameOf(call) });
  }
  if (afterLife(calls) > 0) return found;
  const payloads = new Map<string, string>();
  for (const call of calls) {
    for (const topicId of new Set(
      call.records.flatMap((record) => (places.get(record) ?? []).map(({ batch }) => batch.topicId)),
    )) {
      const other = payloads.get(topicId) ?? call.once!.fingerprint;
      payloads.set(topicId, other);
      if (other !== call.once!.fingerprint) {
        found.push({ kind: 'key reuse not noticed', what: `${nameOf(call)}: two requests are stored under it` });
      }
    }
  }
  return found;
}

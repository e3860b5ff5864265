import { keyOf } from '../../client/consumer-partition.ts';

interface Place {
  readonly topic: string;
  readonly partition: number;
}
interface Position {
  epoch: number;
  owner: string | null;
  committed: number | null;
  /** Since when another is to have it than who owns it, epoch ms. */
  movedAt: number | null;
  /** A claim of an earlier epoch is one of an earlier tenure. */
  epochFrom: number;
}
interface Member {
  readonly id: string;
  readonly topics: readonly string[];
  readonly sessionTimeoutMs: number;
  readonly instanceId: string | undefined;
  seenAt: number;
}
interface Body {
  readonly memberId?: string;
  readonly instanceId?: string;
  readonly topics?: string[];
  readonly positions?: (Place & { offset: number; epoch: number })[];
  readonly commit?: (Place & { offset: number; epoch: number })[];
  readonly release?: (Place & { epoch: number })[];
  readonly paused?: Place[];
  readonly offsets?: (Place & { offset: number; epoch?: number })[];
  readonly maxRecords?: number;
  readonly sessionTimeoutMs?: number;
  readonly autoOffsetReset?: string;
  readonly reset?: string;
  readonly topic?: string;
  readonly partition?: number;
  readonly offset?: number;
  readonly epoch?: number;
  readonly waitMs?: number;
}

const HAND_OVER_MS = 30_000;

export interface GroupCall {
  readonly act: string;
  readonly at: number;
  readonly body: Body;
}

/** `lose`: done, but the answer does not come; `refuse`: nothing is reached. Else status and code of a problem. */
export type GroupFault = 'lose' | 'refuse' | { readonly status: number; readonly code: string };

/**
 * One consumer group as the API describes it ("Consumer groups (pull)"), in a few lines and without a network: a double
 * for faults and moments that no real backbone can be made to show. `fetch` is what a client is given.
 */
export class GroupServer {
  readonly calls: GroupCall[] = [];
  readonly deadLetters: Body[] = [];
  readonly #now: () => number;
  readonly #logs = new Map<string, { start: number; readonly values: unknown[] }>();
  readonly #positions = new Map<string, Position>();
  readonly #members = new Map<string, Member>();
  readonly #replaced = new Set<string>();
  /** Asked about every call. May wait. */
  fault: (call: GroupCall) => GroupFault | undefined | Promise<GroupFault | undefined> = () => undefined;

  constructor(now: () => number, topics: Readonly<Record<string, number>>) {
    this.#now = now;
    for (const [topic, partitions] of Object.entries(topics)) {
      for (let partition = 0; partition < partitions; partition++) {
        this.#logs.set(keyOf({ topic, partition }), { start: 0, values: [] });
        this.#positions.set(keyOf({ topic, partition }), {
          epoch: 0,
          owner: null,
          committed: null,
          movedAt: null,
          epochFrom: 0,
        });
      }
    }
  }

  append(topic: string, partition: number, ...values: unknown[]): void {
    this.#logs.get(keyOf({ topic, partition }))!.values.push(...values);
  }
  committed(topic: string, partition: number): number | null {
    return this.#positions.get(keyOf({ topic, partition }))!.committed;
  }
  /** Retention moves on; the offsets stay what they are. */
  trim(topic: string, partition: number, start: number): void {
    this.#logs.get(keyOf({ topic, partition }))!.start = start;
  }
  owner(topic: string, partition: number): string | null {
    return this.#positions.get(keyOf({ topic, partition }))!.owner;
  }
  get members(): readonly string[] {
    return [...this.#members.keys()];
  }
  /** The session of everybody ends at once. */
  evictAll(): void {
    for (const id of [...this.#members.keys()]) this.#remove(id);
  }
  /** As after a reset: owner gone, epoch over. */
  fence(topic: string, partition: number): void {
    this.#free(this.#positions.get(keyOf({ topic, partition }))!);
  }
  of(act: string): GroupCall[] {
    return this.calls.filter((call) => call.act === act);
  }

  fetch = async (url: string | URL | Request, init: RequestInit = {}): Promise<Response> => {
    const [, , , , act] = new URL(String(url)).pathname.split('/');
    const body = JSON.parse(new TextDecoder().decode(init.body as Uint8Array)) as Body;
    const call = { act: act!, at: this.#now(), body };
    this.calls.push(call);
    const fault = await unlessAborted(Promise.resolve(this.fault(call)), init.signal);
    if (fault === 'refuse') throw refused();
    if (typeof fault === 'object') return problem(fault.status, fault.code);
    const answer = this.#answer(call);
    if (fault === 'lose') throw Object.assign(new TypeError('fetch failed'), { cause: { code: 'ECONNRESET' } });
    return answer;
  };

  #answer({ act, body }: GroupCall): Response {
    for (const member of this.#members.values()) {
      if (this.#now() - member.seenAt > member.sessionTimeoutMs) this.#remove(member.id);
    }
    if (this.#replaced.has(body.memberId ?? '')) return problem(409, 'instance_fenced');
    const joins = act === 'poll' && body.memberId!.startsWith('new:');
    const id = joins ? body.memberId!.slice(4) : body.memberId!;
    if (joins) this.#join(id, body);
    const member = this.#members.get(id);
    if (!member) return problem(404, 'member_not_found');
    member.seenAt = this.#now();
    if (act === 'leave') {
      this.#remove(id);
      return new Response(null, { status: 204 });
    }
    if (act === 'commits') return json({ commits: this.#commit(id, body.offsets!) });
    if (act === 'dead-letters') return this.#deadLetter(id, body);
    return this.#poll(member, body, act === 'poll');
  }

  #join(id: string, body: Body): void {
    if (this.#members.has(id)) return;
    const { instanceId, topics = [], sessionTimeoutMs = 30_000 } = body;
    const before = [...this.#members.values()].find((one) => instanceId !== undefined && one.instanceId === instanceId);
    if (before) {
      this.#replaced.add(before.id);
      this.#members.delete(before.id);
      for (const position of this.#positions.values()) {
        if (position.owner === before.id) Object.assign(position, { owner: id, epoch: this.#nextEpoch(position) });
      }
    }
    this.#members.set(id, { id, topics, sessionTimeoutMs, instanceId, seenAt: this.#now() });
  }

  #poll(member: Member, body: Body, reads: boolean): Response {
    const commits = this.#commit(member.id, body.commit ?? []);
    for (const entry of body.release ?? []) {
      const position = this.#positions.get(keyOf(entry))!;
      if (position.owner === member.id && position.epoch === entry.epoch) this.#free(position);
    }
    const released = new Set((body.release ?? []).map(keyOf));
    const claimed = [...(body.positions ?? []), ...(body.commit ?? [])].filter((one) => !released.has(keyOf(one)));
    const wanted = this.#assignment();
    const assigned: (Place & { epoch: number; offset: number })[] = [];
    const records: object[] = [];
    let room = reads ? (body.maxRecords ?? 500) : 0;
    this.#takeFromWhoeverKeeps(wanted);
    for (const [key, position] of this.#positions) {
      if (wanted.get(key) !== member.id || released.has(key)) continue;
      // Who names a position is believed, as long as the plan gives it the partition: a commit finds out.
      const named = body.positions?.find((one) => keyOf(one) === key && one.epoch >= position.epochFrom);
      if (!named && !reads) continue;
      if (!named && position.owner === null) this.#take(key, position, member.id, body.autoOffsetReset);
      if (!named && position.owner !== member.id) continue;
      const log = this.#logs.get(key)!;
      const place = { ...placeOf(key), epoch: named?.epoch ?? position.epoch };
      let offset = named?.offset ?? position.committed!;
      if (offset < log.start && body.reset) offset = body.reset === 'earliest' ? log.start : this.#end(key);
      if (reads && offset < log.start && !body.paused?.some((one) => keyOf(one) === key)) {
        const error = { code: 'offset_out_of_range', logStartOffset: log.start };
        assigned.push({ ...place, offset, ...{ error } });
        continue;
      }
      if (!body.paused?.some((one) => keyOf(one) === key)) {
        for (; room > 0 && offset < this.#end(key); offset++, room--) {
          records.push({
            ...placeOf(key),
            offset,
            timestamp: 1,
            key: null,
            ...valueAt(log.values[offset]),
            headers: [],
          });
        }
      }
      assigned.push({ ...place, offset });
    }
    const kept = new Set(assigned.map(keyOf));
    const revoked = new Map(
      claimed
        .filter((one) => !kept.has(keyOf(one)))
        .map(({ topic, partition, epoch }) => [keyOf({ topic, partition }), { topic, partition, epoch }]),
    );
    return json({ memberId: member.id, assigned, revoked: [...revoked.values()], commits, records, errors: [] });
  }

  #commit(id: string, entries: readonly (Place & { offset: number; epoch?: number })[]): object[] {
    return entries.map(({ topic, partition, offset, epoch }) => {
      const position = this.#positions.get(keyOf({ topic, partition }))!;
      const place = { topic, partition, offset };
      if (position.owner !== id || position.epoch !== epoch) return { ...place, error: { code: 'fenced' } };
      if (offset < position.committed!) return { ...place, error: { code: 'commit_regressed' } };
      position.committed = offset;
      return place;
    });
  }

  #deadLetter(id: string, body: Body): Response {
    const { topic = '', partition = 0, offset = 0, epoch } = body;
    const isKept = this.deadLetters.some(
      (letter) => keyOf(letter as Place) === keyOf({ topic, partition }) && letter.offset === offset,
    );
    if (this.committed(topic, partition)! > offset && !isKept) return problem(409, 'commit_regressed');
    const [outcome] = this.#commit(id, [
      { topic, partition, offset: offset + 1, ...(epoch !== undefined && { epoch }) },
    ]);
    if (outcome && 'error' in outcome) return problem(409, (outcome.error as { code: string }).code);
    this.deadLetters.push(body);
    return json({ id: `dl-${this.deadLetters.length}`, committed: offset + 1 });
  }

  /** Who is to have what: everybody keeps what is theirs, as far as it is fair. */
  #assignment(): Map<string, string> {
    const members = [...this.#members.keys()].sort();
    const wanted = new Map<string, string>();
    const counts = new Map(members.map((id) => [id, 0]));
    const most = Math.ceil(this.#positions.size / Math.max(1, members.length));
    const give = (key: string, id: string) => {
      wanted.set(key, id);
      counts.set(id, counts.get(id)! + 1);
    };
    for (const [key, { owner }] of this.#positions) {
      if (owner !== null && (counts.get(owner) ?? most) < most) give(key, owner);
    }
    for (const key of this.#positions.keys()) {
      const least = members.sort((a, b) => counts.get(a)! - counts.get(b)!)[0];
      if (!wanted.has(key) && least !== undefined) give(key, least);
    }
    return wanted;
  }

  /** Who does not give back what others are to have loses it after a session. */
  #takeFromWhoeverKeeps(wanted: ReadonlyMap<string, string>): void {
    for (const [key, position] of this.#positions) {
      if (position.owner === null || position.owner === wanted.get(key)) position.movedAt = null;
      else position.movedAt ??= this.#now();
      if (position.movedAt !== null && this.#now() - position.movedAt > HAND_OVER_MS) this.#free(position);
    }
  }

  #remove(id: string): void {
    this.#members.delete(id);
    for (const position of this.#positions.values()) {
      if (position.owner !== id) continue;
      this.#free(position);
      position.epochFrom = position.epoch;
    }
  }
  #take(key: string, position: Position, owner: string, autoOffsetReset: string | undefined): void {
    Object.assign(position, { owner, epoch: this.#nextEpoch(position) });
    position.committed ??= autoOffsetReset === 'latest' ? this.#end(key) : this.#logs.get(key)!.start;
  }
  #free(position: Position): void {
    Object.assign(position, { owner: null, epoch: this.#nextEpoch(position) });
  }
  #nextEpoch({ epoch }: Position): number {
    return Math.max(epoch + 1, this.#now());
  }
  #end(key: string): number {
    return this.#logs.get(key)!.values.length;
  }
}

function placeOf(key: string): Place {
  const [topic, partition] = key.split('/') as [string, string];
  return { topic, partition: Number(partition) };
}

/** A value as an answer shows it; one that says how is taken at its word. */
function valueAt(value: unknown): object {
  return typeof value === 'object' && value !== null && 'wire' in value ? (value.wire as object) : { value };
}

const json = (body: object) => Response.json(body);
const refused = () => Object.assign(new TypeError('fetch failed'), { cause: { code: 'ECONNREFUSED' } });

function problem(status: number, code: string): Response {
  const headers = { 'content-type': 'application/problem+json' };
  return Response.json({ type: 'about:blank', title: code, status, detail: code, code }, { status, headers });
}

function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | null | undefined): Promise<T> {
  return Promise.race([
    work,
    new Promise<never>((_, reject) => {
      signal?.addEventListener('abort', () => reject(new DOMException('aborted', 'AbortError')), { once: true });
    }),
  ]);
}

import { NOBODY } from './plan.ts';

/** Partitions dealt out to members, and how to even them out. Members and topics are numbers, from 0. */
export class Allotment {
  /** Per topic the members that may have it; topics of equal audiences share one list. */
  readonly #audiences: readonly (readonly number[])[];
  /** Per member its partitions by topic, in the order in which it got them. */
  readonly #held: readonly Map<number, number[]>[];
  /** Per member how many it has. */
  readonly #loads: Int32Array;

  constructor(members: number, audiences: readonly (readonly number[])[]) {
    this.#audiences = audiences;
    this.#held = Array.from({ length: members }, () => new Map());
    this.#loads = new Int32Array(members);
  }

  give(topic: number, partition: number, member: number): void {
    const held = this.#held[member]!;
    const partitions = held.get(topic);
    if (partitions === undefined) held.set(topic, [partition]);
    else partitions.push(partition);
    this.#loads[member]! += 1;
  }

  /** Who has least of those that may have a partition of this topic; there must be somebody. The first of equals. */
  leastLoaded(topic: number): number {
    return leastOf(this.#audiences[topic]!, this.#loads);
  }

  *entries(): Generator<{ readonly topic: number; readonly partition: number; readonly member: number }> {
    for (const [member, held] of this.#held.entries()) {
      for (const [topic, partitions] of held) for (const partition of partitions) yield { topic, partition, member };
    }
  }

  /**
   * Moves partitions until no chain of moves (one from A to B, another from B to C …) could take one from a member and
   * give one to a member that has two less. Each chain lowers the sum of squares of what members have: it ends.
   *
   * Whoever has most comes first. If no chain from it helps, none will from anybody that its chains reach: they lead
   * nowhere else, and nobody there has two less than it. So those are done, and never looked at again.
   */
  balance(): void {
    const settled = new Uint8Array(this.#loads.length);
    for (;;) {
      const from = mostOf(settled, this.#loads);
      if (from === NOBODY) return;
      const chain = this.#shortestChain(from, settled);
      if ('reached' in chain) for (const member of chain.reached) settled[member] = 1;
      else this.#move(chain.to, chain.origins);
    }
  }

  /** Breadth first, so that as few partitions move as possible. */
  #shortestChain(
    from: number,
    settled: Uint8Array,
  ): { readonly to: number; readonly origins: ReadonlyMap<number, Origin> } | { readonly reached: Iterable<number> } {
    const origins = new Map<number, Origin>([[from, { member: NOBODY, topic: NOBODY }]]);
    const looked = new Set<readonly number[]>();
    for (let front = [from]; front.length > 0; ) {
      const next: number[] = [];
      for (const member of front) {
        for (const [audience, topic] of this.#offers(member)) {
          if (looked.has(audience)) continue;
          looked.add(audience);
          for (const other of audience) {
            if (settled[other] === 1 || origins.has(other)) continue;
            origins.set(other, { member, topic });
            next.push(other);
          }
        }
      }
      if (next.length > 0) {
        const to = leastOf(next, this.#loads);
        if (this.#loads[to]! <= this.#loads[from]! - 2) return { to, origins };
      }
      front = next;
    }
    return { reached: origins.keys() };
  }

  /** The topics that a member can give from: of those with one audience, that which it has most of. */
  #offers(member: number): Map<readonly number[], number> {
    const held = this.#held[member]!;
    const offers = new Map<readonly number[], number>();
    for (const [topic, partitions] of held) {
      if (partitions.length === 0) continue;
      const audience = this.#audiences[topic]!;
      const best = offers.get(audience);
      if (best === undefined || held.get(best)!.length < partitions.length) offers.set(audience, topic);
    }
    return offers;
  }

  /** Each member of the chain gives what it got last: what it never had before, if there is any. */
  #move(to: number, origins: ReadonlyMap<number, Origin>): void {
    for (let member = to; ; ) {
      const { member: giver, topic } = origins.get(member)!;
      if (giver === NOBODY) return;
      this.give(topic, this.#held[giver]!.get(topic)!.pop()!, member);
      this.#loads[giver]! -= 1;
      member = giver;
    }
  }
}

/** How a chain came to a member: from whom, with a partition of which topic. */
interface Origin {
  readonly member: number;
  readonly topic: number;
}

function leastOf(members: readonly number[], loads: Int32Array): number {
  let least = members[0]!;
  for (const member of members) if (loads[member]! < loads[least]!) least = member;
  return least;
}

function mostOf(settled: Uint8Array, loads: Int32Array): number {
  let most = NOBODY;
  for (let member = 0; member < loads.length; member += 1) {
    if (settled[member] === 0 && (most === NOBODY || loads[member]! > loads[most]!)) most = member;
  }
  return most;
}

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
      if (this.#giveAway(from)) continue;
      const chain = this.#shortestChain(from, settled);
      if (chain.to === undefined) for (const member of chain.reached) settled[member] = 1;
      else this.#move(chain.to, chain);
    }
  }

  /** A chain of one move: most are. @returns whether there was one */
  #giveAway(from: number): boolean {
    let best: { readonly topic: number; readonly to: number } | undefined;
    for (const [audience, topic] of this.#offers(from)) {
      const to = leastOf(audience, this.#loads);
      if (best === undefined || this.#loads[to]! < this.#loads[best.to]!) best = { topic, to };
    }
    if (best === undefined || this.#loads[best.to]! > this.#loads[from]! - 2) return false;
    this.#pass(best.topic, from, best.to);
    return true;
  }

  /** Breadth first, so that as few partitions move as possible. */
  #shortestChain(from: number, settled: Uint8Array): Chain {
    const givers = new Int32Array(this.#loads.length).fill(NOBODY);
    const topics = new Int32Array(this.#loads.length);
    const looked = new Set<readonly number[]>();
    const reached = [from];
    for (let level = 0; level < reached.length; ) {
      const end = reached.length;
      for (; level < end; level += 1) {
        const member = reached[level]!;
        for (const [audience, topic] of this.#offers(member)) {
          if (looked.has(audience)) continue;
          looked.add(audience);
          for (const other of audience) {
            if (settled[other] === 1 || givers[other] !== NOBODY || other === from) continue;
            givers[other] = member;
            topics[other] = topic;
            reached.push(other);
          }
        }
      }
      if (reached.length === end) break;
      const to = leastOf(reached, this.#loads, end);
      if (this.#loads[to]! <= this.#loads[from]! - 2) return { reached, givers, topics, to };
    }
    return { reached, givers, topics };
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

  #move(to: number, { givers, topics }: Chain): void {
    for (let member = to; givers[member] !== NOBODY; member = givers[member]!) {
      this.#pass(topics[member]!, givers[member]!, member);
    }
  }

  /** A member gives what it got last: what it never had before, if there is any. */
  #pass(topic: number, from: number, to: number): void {
    this.give(topic, this.#held[from]!.get(topic)!.pop()!, to);
    this.#loads[from]! -= 1;
  }
}

/** What a search for a chain found. */
interface Chain {
  /** Members in the order in which they were met. */
  readonly reached: readonly number[];
  /** Per member from whom a chain came to it; nobody: it begins here, or never came. */
  readonly givers: Int32Array;
  /** Per member of which topic a partition came with it. */
  readonly topics: Int32Array;
  /** Where the chain ends; absent: there is none that helps. */
  readonly to?: number;
}

/** Who has least of these, from one on; the first of equals. */
function leastOf(members: readonly number[], loads: Int32Array, start = 0): number {
  let least = members[start]!;
  for (let i = start; i < members.length; i += 1) {
    const member = members[i]!;
    if (loads[member]! < loads[least]!) least = member;
  }
  return least;
}

function mostOf(settled: Uint8Array, loads: Int32Array): number {
  let most = NOBODY;
  for (let member = 0; member < loads.length; member += 1) {
    if (settled[member] === 0 && (most === NOBODY || loads[member]! > loads[most]!)) most = member;
  }
  return most;
}

import type { CommitOutcome, NamedPartition, OwnedPartition, Report } from './group-requests.ts';
import { byPartition } from './group-standing.ts';
import type { Held, LiveShare, Wanted } from './take-positions.ts';

/** Without an offset where it only committed. */
type Claim = OwnedPartition & { readonly offset?: number };

/** What a member says it owns, by partition. */
export class Claims {
  readonly #claims = new Map<string, Claim>();
  readonly #released: ReadonlySet<string>;
  readonly #fenced = new Map<string, number>();

  /** @param commits how those of the report ended: an epoch that is fenced is over, whatever the member says */
  constructor({ positions, commit, release }: Report, commits: readonly CommitOutcome[]) {
    this.#released = new Set(release.map(textOf));
    for (const [i, { topic, partition, epoch }] of commit.entries()) {
      this.#add({ topic, partition, epoch });
      if (commits[i]?.error?.code === 'fenced') this.#fenced.set(textOf({ topic, partition }), epoch);
    }
    for (const position of positions) this.#add(position);
  }

  #add(claim: Claim): void {
    if (!this.#released.has(textOf(claim))) this.#claims.set(textOf(claim), claim);
  }

  /** It has these now. */
  hold(held: readonly Held[]): void {
    for (const { topic, partition, epoch, offset } of held) this.#add({ topic: topic.name, partition, epoch, offset });
  }

  isReleased(partition: NamedPartition): boolean {
    return this.#released.has(textOf(partition));
  }

  /** What of its shares it holds. */
  held(shares: readonly LiveShare[]): Held[] {
    return shares.map((share) => this.#believed(share)).filter((one) => one !== undefined);
  }

  /** What of its shares it has to take, with what it says of them. */
  wanting(shares: readonly LiveShare[]): Wanted[] {
    return shares
      .filter((share) => this.#believed(share) === undefined && !this.isReleased(share))
      .map((share) => ({ ...share, echo: this.#echo(share) }));
  }

  /** Where it goes on in a partition that it is to have. An epoch of an earlier tenure is not believed. */
  #believed(share: LiveShare): Held | undefined {
    const { of: topic, partition, epochFrom } = share;
    const claim = this.#echo(share);
    if (claim?.offset === undefined || claim.epoch < epochFrom) return undefined;
    return { topic, partition, epoch: claim.epoch, offset: claim.offset };
  }

  #echo(share: LiveShare): Claim | undefined {
    const claim = this.#claims.get(textOf(share));
    return claim === undefined || claim.epoch <= (this.#fenced.get(textOf(share)) ?? -1) ? undefined : claim;
  }

  /** What it is to give back: all that it claims and does not hold any more. */
  revoked(held: readonly Held[]): OwnedPartition[] {
    const kept = new Set(held.map(({ topic, partition }) => textOf({ topic: topic.name, partition })));
    return [...this.#claims.values()]
      .filter((claim) => !kept.has(textOf(claim)))
      .map(({ topic, partition, epoch }) => ({ topic, partition, epoch }))
      .toSorted(byPartition);
  }
}

function textOf({ topic, partition }: NamedPartition): string {
  return `${topic}#${partition}`;
}

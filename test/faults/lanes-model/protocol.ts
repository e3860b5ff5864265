/** What one may get wrong about the parking of keys, each by itself. */
export interface Protocol {
  /** The hand-back raises the position's epoch: a take by whoever read it before fails. */
  readonly handBackRaisesEpoch: boolean;
  /** A take requires that the position passes over what it did when it was read. */
  readonly takeSeesParked: boolean;
  /** What is written to let go of a position whose parking got no answer. */
  readonly letGoWrites: 'what is settled' | 'what was meant';
  /** How a position passes over a key, and a lane is made. */
  readonly park: 'one write' | 'position first' | 'lane first';
  /** How a lane is removed, and its key is passed over no more; `early`: before the rest is delivered. */
  readonly handBack: 'one write' | 'position first' | 'lane first' | 'early';
  readonly handBackTakesLane: boolean;
  /** What a lane's run does when it is where the position was. */
  readonly laneEnd: 'says so' | 'removes itself';
  readonly laneReach: 'position' | 'log';
  /** Each commit writes what is passed over, as its run remembers it. */
  readonly commitWritesParked: boolean;
  readonly seekRemovesLane: boolean;
}

export const RIGHT: Protocol = {
  handBackRaisesEpoch: true,
  takeSeesParked: false,
  letGoWrites: 'what is settled',
  park: 'one write',
  handBack: 'one write',
  handBackTakesLane: true,
  laneEnd: 'says so',
  laneReach: 'position',
  commitWritesParked: false,
  seekRemovesLane: true,
};

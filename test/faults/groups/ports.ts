import { memberKeyOf } from '../../../shared/domain/group.ts';
import type { Position, PositionId } from '../../../shared/domain/position.ts';
import { type KnownPlan, PlanCache } from '../../../shared/operations/plan-cache.ts';
import { ProvenOffsets } from '../../../shared/operations/proven-offsets.ts';
import type { MemberPorts } from '../../../shared/operations/redriven-ports.ts';
import type { Coverage } from '../coverage.ts';
import { replacePort } from '../replace-port.ts';
import type { Host } from '../simulator/host.ts';

const ULID_LETTERS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const ULID_LENGTH = 26;

const known = new WeakMap<Host, MemberPorts>();

/** What a host's process has for groups: like its clients, once for its whole life. */
export function portsOf(host: Host): MemberPorts {
  const there = known.get(host);
  if (there !== undefined) return there;
  const newUlid = () => ulidFrom(() => host.backbone.random());
  const ports: MemberPorts = {
    ...host.backbone,
    ...{ plans: new PlanCache(), proven: new ProvenOffsets() },
    ...{ newGroupId: newUlid, newMemberUlid: newUlid },
    // No history of groups has dead letters: a marked group has none.
    deadLetterObjects: host.sweep.deadLetterObjects as never,
    deadLetterQueue: { tell: async () => {} },
  };
  known.set(host, ports);
  return ports;
}

export function ulidFrom(random: () => number): string {
  return Array.from({ length: ULID_LENGTH }, () => ULID_LETTERS[Math.floor(random() * ULID_LETTERS.length)]).join('');
}

/** The service's time. */
interface Clocked {
  now(): number;
  noteSkew(ms: number): void;
}

/** Counts what a host's operations meet in their stores, and notes how wrong a clock they go by. */
export function watched(host: Host, { coverage, ...world }: { readonly coverage: Coverage } & Clocked): void {
  const ports = portsOf(host);
  const { clock } = ports;
  const now = () => {
    const time = clock.now();
    world.noteSkew(Math.abs(time - world.now()));
    return time;
  };
  Object.assign(ports, { clock: { now } });
  let known: KnownPlan | undefined;
  replacePort(ports, 'plans', (plans) => ({
    of: async (...asked) => {
      known = await plans.of(...asked);
      return known;
    },
  }));
  replacePort(ports, 'groups', (groups) => ({
    claim: async (...claim) => {
      const isMine = await groups.claim(...claim);
      if (!isMine) coverage.count('claim of a check lost');
      return isMine;
    },
    finish: async (...finished) => {
      const outcome = await groups.finish(...finished);
      if (outcome === 'left due') coverage.count('check left due');
      return outcome;
    },
  }));
  replacePort(ports, 'members', (members) => ({
    expire: async (...expired) => {
      const isOut = await members.expire(...expired);
      if (!isOut) coverage.count('expiry met a heartbeat');
      return isOut;
    },
  }));
  replacePort(ports, 'assignments', (assignments) => ({
    put: async (...put) => {
      const isMade = await assignments.put(...put);
      if (!isMade) coverage.count('assignment found where one was to be put');
      return isMade;
    },
  }));
  replacePort(ports, 'positions', (positions) => ({
    read: async (position, strong) => {
      const found = await positions.read(position, strong);
      if (known !== undefined && found !== undefined && isYounger(found, position, known)) {
        coverage.count('plan older than a position');
      }
      return found;
    },
    take: async (...take) => {
      const isMine = await positions.take(...take);
      if (!isMine) coverage.count('take met a change');
      return isMine;
    },
    createAll: async (...made) => {
      const isMade = await positions.createAll(...made);
      if (!isMade) coverage.count('position made by another');
      return isMade;
    },
  }));
}

/** Whether somebody took a position by a plan that this host does not know. */
function isYounger({ owner, epoch }: Position, { topicId, partition }: PositionId, { plan }: KnownPlan): boolean {
  const topic = plan.topics.findIndex(({ id }) => id === topicId);
  const from = plan.epochFrom[topic]?.[partition];
  const named = plan.members[plan.owners[topic]?.[partition] ?? -1]?.key;
  return owner !== undefined && from !== undefined && epoch >= from && memberKeyOf(owner) !== named;
}

import type { Plan } from '../../../shared/domain/plan.ts';
import type { MemberPorts } from '../../../shared/operations/redriven-ports.ts';
import { replacePort } from '../replace-port.ts';
import type { Host } from '../simulator/host.ts';
import type { World } from '../simulator/world.ts';
import { GROUP_ENVIRONMENTS, type GroupEnvironment } from './environments.ts';
import { portsOf } from './ports.ts';

function like(name: string, changes: Partial<GroupEnvironment> = {}): GroupEnvironment {
  const environment = GROUP_ENVIRONMENTS.find((candidate) => candidate.name === name);
  if (environment === undefined) throw new Error(`there is no environment '${name}'`);
  return { ...environment, ...changes };
}

interface Sabotage {
  readonly seedsMax: number;
  readonly environment: GroupEnvironment;
  break(host: Host, world: World): void;
}

/** One wrong port of every host's groups. */
const wrong =
  <K extends keyof MemberPorts>(
    port: K,
    make: (real: MemberPorts[K], host: Host, world: World) => Partial<MemberPorts[K]>,
  ): Sabotage['break'] =>
  (host, world) =>
    replacePort(portsOf(host), port, (real) => make(real, host, world));

/**
 * Groups that are broken on purpose, each by one wrong port of every host. The product has no switch for any of them.
 * `seedsMax`: among this many seeds, in an environment where it matters, the checker must have noticed.
 */
export const GROUP_SABOTAGES: Readonly<Record<string, Sabotage>> = {
  'a commit that does not look at the epoch': {
    seedsMax: 20,
    environment: like('late commits'),
    break: wrong('positions', (positions) => ({
      commit: async (position, _, offset, options) => {
        const { epoch } = (await positions.read(position)) ?? { epoch: 0 };
        return positions.commit(position, { epoch }, offset, options);
      },
    })),
  },
  'a commit that may go back': {
    seedsMax: 40,
    environment: like('late commits'),
    break: (host) =>
      host.rewrite((_, input) => {
        const { ConditionExpression: condition } = input as { ConditionExpression?: string };
        if (condition === undefined) return input;
        return { ...input, ConditionExpression: condition.replace(' AND #committed <= :offset', '') };
      }),
  },
  'a commit that is told and not made': {
    seedsMax: 10,
    environment: like('groups'),
    break: wrong('positions', (positions, host) => ({
      commit: async (...commit) => (host.backbone.random() < 0.1 ? 'done' : positions.commit(...commit)),
    })),
  },
  'a take that does not look at the owner': {
    seedsMax: 20,
    environment: like('members never release'),
    break: wrong('positions', (positions) => ({
      read: async (...read) => {
        const found = await positions.read(...read);
        if (found === undefined) return undefined;
        const { owner: _, ...free } = found;
        return free;
      },
    })),
  },
  'a take of what is no longer as it was seen': {
    seedsMax: 100,
    environment: like('static members', { habits: like('groups, slow').habits, twins: 0.7, leaves: 0.1 }),
    break: wrong('positions', (positions) => ({
      take: async (position, _, owner, epoch) => {
        const seen = await positions.read(position);
        return seen !== undefined && positions.take(position, seen, owner, epoch);
      },
    })),
  },
  'an expiry that does not look who was seen': {
    seedsMax: 60,
    environment: like('members stand still'),
    break: wrong('members', (members) => ({
      expire: (group, { key, memberId }) => members.leave(group, key, memberId),
    })),
  },
  'nobody is put out': {
    seedsMax: 10,
    environment: like('spares'),
    break: wrong('members', () => ({ expire: async () => false })),
  },
  'epochs that begin anew with the group': {
    seedsMax: 200,
    environment: like('groups made again', { skewMs: 0, late: 1 }),
    break: (host, world) => {
      const ports = portsOf(host);
      const made = clocks.get(world) ?? { behindMs: 0 };
      clocks.set(world, made);
      // Each group begins at the time when the first one did, in whole seconds, so that the same epochs come again.
      const now = () => Math.floor((host.now() - made.behindMs) / 1_000) * 1_000;
      Object.assign(ports, { clock: { now } });
      replacePort(ports, 'groups', (groups) => ({
        create: async (group) => {
          const isMade = await groups.create(group);
          made.firstAt ??= host.now();
          if (isMade) made.behindMs = host.now() - made.firstAt;
          return isMade;
        },
      }));
    },
  },
  'an end that is not stored': {
    seedsMax: 40,
    environment: like('begun at the end'),
    // As long as nothing was committed, it is looked up each time.
    break: wrong('positions', (positions, host) => {
      const begun = new Map<string, number>();
      return {
        read: async (position, strong) => {
          const found = await positions.read(position, strong);
          const name = `${position.group.id} ${position.topicId}.${position.partition}`;
          if (found === undefined || (begun.get(name) ?? found.committed) !== found.committed) return found;
          begun.set(name, found.committed);
          const head = await host.backbone.heads.read(position);
          return { ...found, committed: head?.settled ?? found.committed };
        },
        take: async (position, { epoch }, owner, next) => {
          const seen = await positions.read(position);
          return seen?.epoch === epoch && positions.take(position, seen, owner, next);
        },
      };
    }),
  },
  'an added partition that begins at the end': {
    seedsMax: 60,
    environment: like('begun at the end', { grow: 1, partitions: 2 }),
    break: wrong('groupTopics', (groupTopics) => ({
      all: async (group) => (await groupTopics.all(group)).map((topic) => ({ ...topic, known: topic.partitions })),
    })),
  },
  'an echo that is believed whatever its epoch': {
    seedsMax: 40,
    environment: like('members stand still', { comesBack: 1 }),
    break: wrong('plans', (plans) => ({
      of: async (...asked) => {
        const known = await plans.of(...asked);
        return { ...known, plan: withoutTenures(known.plan) };
      },
    })),
  },
  'an assignment that is written over': {
    seedsMax: 40,
    environment: like('groups, harsh'),
    break: (host) =>
      host.rewrite((operation, input) => {
        if (operation !== 'PutItem' || !('plan' in input.Item!)) return input;
        const { ConditionExpression: _, ...unconditional } = input;
        return unconditional;
      }),
  },
  'a release by anybody': {
    seedsMax: 60,
    environment: like('members never release', { stubborn: 0, standsStill: 0.2 }),
    break: wrong('positions', (positions) => ({
      release: async (position) => {
        const { owner, epoch } = (await positions.read(position)) ?? {};
        if (owner !== undefined && epoch !== undefined) await positions.release(position, { owner, epoch });
      },
    })),
  },
  'offsets that nobody proves': {
    seedsMax: 20,
    environment: like('late commits', { outside: 1 }),
    break: wrong('proven', () => ({ of: () => ({ to: Number.POSITIVE_INFINITY, logStart: 0 }) })),
  },
};

const clocks = new WeakMap<World, { behindMs: number; firstAt?: number }>();

function withoutTenures(plan: Plan): Plan {
  return { ...plan, epochFrom: plan.epochFrom.map((list) => list.map(() => 0)) };
}

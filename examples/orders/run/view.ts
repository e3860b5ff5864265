import { setTimeout as sleep } from 'node:timers/promises';
import { type Screen, Terminal } from '../../../local/terminal.ts';
import type { ServiceName } from '../shop/subscriptions.ts';
import type { World } from './world.ts';

/** How often it looks: on a terminal, and where lines stay. */
const LOOK_EVERY_MS = 500;
const PRINT_EVERY_MS = 5_000;

interface Look {
  readonly at: number;
  /** Records behind, and records done, by service. */
  readonly services: ReadonlyMap<ServiceName, { readonly lag: number; readonly done: number; readonly state: string }>;
  readonly stock: { readonly available: number; readonly reserved: number; readonly sold: number };
}

/** Shows while it runs how far behind each service is, how fast it works, and what is in stock. */
export class View {
  readonly #world: World;
  readonly #terminal: Terminal;
  readonly #services = new Set<ServiceName>();
  readonly #ending = new AbortController();
  #last: Look | undefined;
  #running: Promise<void> | undefined;

  constructor(world: World, screen: Screen) {
    this.#world = world;
    this.#terminal = new Terminal(screen);
  }

  add(service: ServiceName): void {
    this.#services.add(service);
    this.#running ??= this.#run();
  }

  get services(): readonly ServiceName[] {
    return [...this.#services];
  }

  /** A line that stays. */
  say(line: string): void {
    this.#terminal.print(line);
  }

  async close(): Promise<void> {
    this.#ending.abort();
    await this.#running;
    this.#terminal.showStatus([]);
  }

  async #run(): Promise<void> {
    const { signal } = this.#ending;
    const { rewrites } = this.#terminal;
    while (!signal.aborted) {
      const look = await this.#look().catch(() => undefined); // there is another one soon
      if (look !== undefined) {
        const lines = linesOf(look, this.#last);
        this.#last = look;
        if (rewrites) this.#terminal.showStatus(lines);
        else this.#terminal.print(lines.map((line) => line.trim().replace(/ {2,}/g, ' ')).join(' | '));
      }
      await sleep(rewrites ? LOOK_EVERY_MS : PRINT_EVERY_MS, undefined, { signal }).catch(() => {});
    }
  }

  async #look(): Promise<Look> {
    const admin = this.#world.backbone.admin();
    const services = new Map<ServiceName, { lag: number; done: number; state: string }>();
    for (const name of this.#services) {
      const { lag, partitions, state } = await admin.describeSubscription(name);
      services.set(name, { lag, state, done: partitions.reduce((sum, { committed }) => sum + (committed ?? 0), 0) });
    }
    return { at: Date.now(), services, stock: await this.#world.countStock() };
  }
}

/** `inventory        12 behind     48/s`, and the stock below. */
export function linesOf({ at, services, stock }: Look, before: Look | undefined): string[] {
  const number = (value: number, width: number) => value.toLocaleString('en-US').padStart(width);
  const lines = [...services].map(([name, { lag, done, state }]) => {
    const seconds = before === undefined ? 0 : (at - before.at) / 1_000;
    const perSecond = seconds > 0 ? Math.round((done - (before!.services.get(name)?.done ?? done)) / seconds) : 0;
    const standing = state === 'active' ? '' : `  ${state}`;
    return `${name.padEnd(10)}${number(lag, 8)} behind${number(perSecond, 7)}/s${standing}`;
  });
  const { available, reserved, sold } = stock;
  return [...lines, `stock     ${number(available, 8)} there ${number(reserved, 7)} reserved${number(sold, 8)} sold`];
}

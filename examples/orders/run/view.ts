import { setTimeout as sleep } from 'node:timers/promises';
import { type Screen, Terminal } from '../../../local/terminal.ts';
import type { ServiceName } from '../shop/subscriptions.ts';
import type { World } from './world.ts';

/** How often it looks, and prints where lines stay. */
const LOOK_EVERY_MS = 500;
const PRINT_EVERY_MS = 5_000;
/** Looks read every partition of every service: of the time that there is they take a tenth at most. */
const PAUSE_PER_LOOK = 9;

export interface Look {
  readonly at: number;
  readonly services: ReadonlyMap<ServiceName, Standing>;
  readonly stock: { readonly available: number; readonly reserved: number; readonly sold: number };
}

export interface Standing {
  /** Records that it has yet to come to, and those that are behind it. */
  readonly lag: number;
  readonly done: number;
  readonly state: string;
  readonly reason: string;
}

/** Shows while it runs how far behind each service is, how fast it works, and what is in stock. */
export class View {
  readonly #world: World;
  readonly #terminal: Terminal;
  readonly #services = new Set<ServiceName>();
  readonly #ending = new AbortController();
  #shown: Look | undefined;
  #waiting: ((look: Look) => void)[] = [];
  #running: Promise<void> | undefined;

  constructor(world: World, screen: Screen) {
    this.#world = world;
    this.#terminal = new Terminal(screen);
  }

  /** One more that is looked at. */
  add(service: ServiceName): void {
    this.#services.add(service);
    this.#running ??= this.#run();
  }

  get services(): readonly ServiceName[] {
    return [...this.#services];
  }

  /** The next look, of all that there are now. */
  next(): Promise<Look> {
    return new Promise((resolve) => this.#waiting.push(resolve));
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
    while (!signal.aborted) {
      const startedAt = Date.now();
      const waiting = this.#waiting;
      this.#waiting = [];
      const look = await this.#look().catch(() => undefined); // there is another one soon
      if (look === undefined) this.#waiting.push(...waiting);
      else {
        this.#show(look);
        for (const resolve of waiting) resolve(look);
      }
      const pauseMs = Math.max(LOOK_EVERY_MS, PAUSE_PER_LOOK * (Date.now() - startedAt));
      await sleep(pauseMs, undefined, { signal }).catch(() => {});
    }
  }

  async #look(): Promise<Look> {
    const admin = this.#world.backbone.admin();
    const services = new Map<ServiceName, Standing>();
    for (const name of this.#services) {
      const { lag, partitions, state, reason = '' } = await admin.describeSubscription(name);
      const done = partitions.reduce((sum, { committed }) => sum + (committed ?? 0), 0);
      services.set(name, { lag, done, state, reason });
    }
    return { at: Date.now(), services, stock: await this.#world.countStock() };
  }

  #show(look: Look): void {
    const { rewrites } = this.#terminal;
    if (!rewrites && look.at - (this.#shown?.at ?? 0) < PRINT_EVERY_MS) return;
    const lines = linesOf(look, this.#shown);
    this.#shown = look;
    if (rewrites) this.#terminal.showStatus(lines);
    else this.#terminal.print(lines.map((line) => line.trim().replace(/ {2,}/g, ' ')).join(' | '));
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

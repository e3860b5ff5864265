import { setTimeout as sleep } from 'node:timers/promises';
import type { CallAs } from './aws-calls.ts';
import type { Switchable } from './lambda-api.ts';
import type { PackagedFunction } from './packaged-function.ts';
import { mappingArn } from './rights.ts';

/** An event source mapping, as the template has it. */
export interface MappingProperties {
  readonly EventSourceArn: string;
  readonly BatchSize?: number;
  readonly BisectBatchOnFunctionError?: boolean;
  readonly DestinationConfig?: { readonly OnFailure?: { readonly Destination: string } };
  readonly Enabled?: boolean;
  readonly FilterCriteria?: { readonly Filters?: readonly { readonly Pattern: string }[] };
  readonly FunctionResponseTypes?: readonly string[];
  readonly MaximumRecordAgeInSeconds?: number;
  readonly MaximumRetryAttempts?: number;
  readonly ScalingConfig?: { readonly MaximumConcurrency?: number };
  readonly StartingPosition?: string;
}

/** What every event source needs. */
export interface SourceOptions {
  readonly id: string;
  readonly properties: MappingProperties;
  readonly fn: Pick<PackagedFunction, 'name' | 'arn' | 'invoke'>;
  /** Calls a service in the name of the function's role. */
  readonly call: (operation: string, body: object, signal?: AbortSignal) => ReturnType<CallAs>;
  readonly onFailure: (name: string, error: unknown) => void;
}

/** Pause after a failure. */
const PAUSE_MS = 1_000;

/** Reads an event source while it is switched on, and hands what is in it to a function. */
export abstract class EventSource implements Switchable {
  readonly id: string;
  protected readonly options: SourceOptions;
  #work: { readonly ending: AbortController; readonly done: Promise<void> } | undefined;

  constructor(options: SourceOptions) {
    this.id = options.id;
    this.options = options;
  }

  get enabled(): boolean {
    return this.#work !== undefined;
  }

  switch(on: boolean): void {
    if (on === this.enabled) return;
    if (!on) {
      this.#work?.ending.abort();
      this.#work = undefined;
      return;
    }
    const ending = new AbortController();
    this.#work = { ending, done: this.#run(ending.signal) };
  }

  describe(): object {
    const { EventSourceArn } = this.options.properties;
    const [FunctionArn, State] = [this.options.fn.arn, this.enabled ? 'Enabled' : 'Disabled'];
    return { UUID: this.id, EventSourceMappingArn: mappingArn(this.id), EventSourceArn, FunctionArn, State };
  }

  /** Begins nothing new, and waits for what is under way. */
  async close(): Promise<void> {
    const done = this.#work?.done;
    this.switch(false);
    await done;
  }

  /** Reads until `ending` aborts; whoever throws is called again after a pause. */
  protected abstract read(ending: AbortSignal): Promise<void>;

  protected tell(error: unknown): void {
    this.options.onFailure(this.options.fn.name, error);
  }

  async #run(ending: AbortSignal): Promise<void> {
    while (!ending.aborted) {
      try {
        await this.read(ending);
      } catch (error) {
        if (ending.aborted) return;
        this.tell(error);
        await sleep(PAUSE_MS, undefined, { ref: false, signal: ending }).catch(() => {});
      }
    }
  }
}

import { setTimeout as sleep } from 'node:timers/promises';
import {
  GetEventSourceMappingCommand,
  type LambdaClient,
  UpdateEventSourceMappingCommand,
} from '@aws-sdk/client-lambda';
import { Throttled, Unavailable } from '../domain/errors.ts';

/** A mapping that is being switched takes a while until it can be switched again: so often it is tried, and so rarely. */
const TRIES_MAX = 8;
const PAUSE_MS = 2_500;

/** The event sources that wake deliveries: their polls are paid for even while there is nothing to deliver. */
export class DeliverySwitch {
  readonly #lambda: Pick<LambdaClient, 'send'>;
  readonly #mappings: readonly string[];
  readonly #pauseMs: number;

  /** @param mappings their UUIDs */
  constructor(lambda: Pick<LambdaClient, 'send'>, mappings: readonly string[], pauseMs = PAUSE_MS) {
    this.#lambda = lambda;
    this.#mappings = mappings;
    this.#pauseMs = pauseMs;
  }

  /** Whether none has to be switched: one that is made or changed just now is looked at another time. @throws {Throttled} */
  async is(on: boolean): Promise<boolean> {
    try {
      const states = await Promise.all(this.#mappings.map((UUID) => this.#stateOf(UUID)));
      return !states.some((state) => isSo(state, !on));
    } catch (error) {
      if ((error as Error).name !== 'TooManyRequestsException') throw error;
      throw new Throttled('Lambda does not tell about its event sources for now', 1_000, { cause: error });
    }
  }

  /** @throws {Unavailable} some may be switched: repeat it */
  async switch(on: boolean): Promise<void> {
    await Promise.all(this.#mappings.map((UUID) => this.#switch(UUID, on)));
  }

  async #switch(UUID: string, Enabled: boolean): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        // One that is on its way there refuses to be sent there again.
        if (isSo(await this.#stateOf(UUID), Enabled)) return;
        await this.#lambda.send(new UpdateEventSourceMappingCommand({ UUID, Enabled }));
        return;
      } catch (error) {
        const { name, $retryable } = error as Error & { $retryable?: object };
        const isPassing = name === 'ResourceInUseException' || name === 'TooManyRequestsException' || $retryable;
        if (!isPassing) throw error;
        if (tries === TRIES_MAX) {
          throw new Unavailable('What wakes deliveries is being switched; send it again', 5_000, { cause: error });
        }
        await sleep(this.#pauseMs);
      }
    }
  }

  async #stateOf(UUID: string): Promise<string | undefined> {
    return (await this.#lambda.send(new GetEventSourceMappingCommand({ UUID }))).State;
  }
}

/** Source: AWS Lambda, "GetEventSourceMapping", `State`. */
function isSo(state: string | undefined, on: boolean): boolean {
  return state === (on ? 'Enabled' : 'Disabled') || state === (on ? 'Enabling' : 'Disabling');
}

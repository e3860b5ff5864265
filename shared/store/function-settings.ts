import {
  GetEventSourceMappingCommand,
  GetFunctionConcurrencyCommand,
  GetFunctionConfigurationCommand,
  GetFunctionRecursionConfigCommand,
  type LambdaClient,
} from '@aws-sdk/client-lambda';
import type { FunctionFacts, MappingFacts } from '../domain/deployed-facts.ts';
import { look, lookFor } from './looks.ts';

/** How functions, and what calls them, are set up. */
export class FunctionSettings {
  readonly #lambda: Pick<LambdaClient, 'send'>;

  constructor(lambda: Pick<LambdaClient, 'send'>) {
    this.#lambda = lambda;
  }

  /** @returns undefined when there is none of this name @throws {CannotLook} */
  async read(FunctionName: string): Promise<FunctionFacts | undefined> {
    const is = await lookFor(this.#lambda.send(new GetFunctionConfigurationCommand({ FunctionName })));
    if (is === undefined) return undefined;
    const concurrency = await look(this.#lambda.send(new GetFunctionConcurrencyCommand({ FunctionName })));
    const loop = await look(this.#lambda.send(new GetFunctionRecursionConfigCommand({ FunctionName })));
    const most = typeof concurrency === 'object' ? concurrency.ReservedConcurrentExecutions : undefined;
    const fault =
      is.LastUpdateStatus === 'Failed'
        ? `its last update failed: ${is.LastUpdateStatusReason}`
        : is.State === 'Failed' || is.State === 'Inactive'
          ? `it is ${is.State}: ${is.StateReason}`
          : undefined;
    return {
      ...(fault !== undefined && { fault }),
      environment: is.Environment?.Variables ?? {},
      ...(most !== undefined && { concurrency: most }),
      ...(typeof loop === 'object' && { mayLoop: loop.RecursiveLoop === 'Allow' }),
    };
  }

  /** @param UUID of an event source mapping @returns undefined when there is none @throws {CannotLook} */
  async readMapping(UUID: string): Promise<MappingFacts | undefined> {
    const is = await lookFor(this.#lambda.send(new GetEventSourceMappingCommand({ UUID })));
    if (is === undefined) return undefined;
    const state = is.State ?? 'Unknown';
    return {
      isEnabled: state === 'Enabled' || state === 'Enabling' || state === 'Creating',
      state,
      source: is.EventSourceArn ?? '',
      ...(is.LastProcessingResult && { lastResult: is.LastProcessingResult }),
      takesFailures: is.FunctionResponseTypes?.includes('ReportBatchItemFailures') ?? false,
    };
  }
}

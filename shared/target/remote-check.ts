import { InvokeCommand, type LambdaClient } from '@aws-sdk/client-lambda';
import { BackboneError, type ErrorCode, type ErrorData, Unavailable } from '../domain/errors.ts';
import { TargetRefused } from '../domain/subscription-errors.ts';
import type { TargetSpec } from '../domain/target-spec.ts';
import { checkSpec, type TargetChecks, type TargetFacts } from './check.ts';

/*
 * A target is looked at by the rights with which it is pushed to, which are not those of who subscribes:
 *
 *   event   {"check": TargetSpec}
 *   answer  TargetFacts, or {"refused": {code, detail, data}}
 */
export interface CheckEvent {
  readonly check: TargetSpec;
}
type CheckAnswer =
  | TargetFacts
  | { readonly refused: { readonly code: ErrorCode; readonly detail: string; readonly data: ErrorData } };

/** The side of who pushes. */
export async function answerCheck({ check }: CheckEvent, checks: TargetChecks): Promise<CheckAnswer> {
  try {
    return await checkSpec(check, checks);
  } catch (error) {
    if (!(error instanceof BackboneError)) throw error;
    return { refused: { code: error.code, detail: error.message, data: error.data } };
  }
}

/** The side of who subscribes. */
export class RemoteCheck {
  readonly #lambda: Pick<LambdaClient, 'send'>;
  readonly #functionName: string;

  constructor(lambda: Pick<LambdaClient, 'send'>, functionName: string) {
    this.#lambda = lambda;
    this.#functionName = functionName;
  }

  /** @throws {TargetRefused | Unavailable} */
  async check(target: TargetSpec): Promise<TargetFacts> {
    const event: CheckEvent = { check: target };
    const command = new InvokeCommand({ FunctionName: this.#functionName, Payload: JSON.stringify(event) });
    const { FunctionError, Payload } = await this.#lambda.send(command).catch((error: unknown) => {
      throw new Unavailable('The target could not be looked at; send it again', 1_000, { cause: error });
    });
    if (FunctionError !== undefined) throw new Unavailable('The target could not be looked at; send it again', 1_000);
    const answer = JSON.parse(Payload!.transformToString()) as CheckAnswer;
    if (!('refused' in answer)) return answer;
    const { code, detail, data } = answer.refused;
    throw new TargetRefused(code, detail, data);
  }
}

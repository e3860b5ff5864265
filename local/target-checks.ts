import { TargetNotAllowed } from '../shared/domain/target-errors.ts';
import type { TargetChecks } from '../shared/target/check.ts';
import type { ModuleFunctions } from './module-function.ts';

const ELSEWHERE = 'in the embedded backbone a target is a module (file:./handler.mjs) or an HTTP endpoint';

/** What may be pushed to from here: modules on this machine, public endpoints, and those of this machine. */
export function localChecks(functions: Pick<ModuleFunctions, 'locate'>): TargetChecks {
  return {
    rules: { loopback: true, ownHosts: [] },
    async lambda(functionArn) {
      await functions.locate(functionArn).catch((error: Error) => {
        throw new TargetNotAllowed(error.message);
      });
      return {};
    },
    async sqs() {
      throw new TargetNotAllowed(`there are no queues here: ${ELSEWHERE}`);
    },
    async eventBridge() {
      throw new TargetNotAllowed(`there are no event buses here: ${ELSEWHERE}`);
    },
  };
}

import type { ApiPorts } from '../../functions/api-handler.ts';
import { ANYBODY } from '../../shared/domain/rights.ts';

/** What a function needs whose callers nobody asks who they are. */
export const OPEN_PORTS: ApiPorts = { clock: Date, access: { authorise: async () => ANYBODY } };

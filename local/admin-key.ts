import type { Tables } from '../functions/tables.ts';
import { RIGHTS } from '../shared/domain/rights.ts';
import { createApiKey } from '../shared/operations/api-keys.ts';
import { apiKeyText, hashOfSecret } from '../shared/wire/api-key-text.ts';

/** What the key of a start is called. */
const NAME = 'start';

/** Makes the key by which everything may be done until the next start: that of the start before is worth nothing any more. */
export async function renewAdminKey(tables: Tables): Promise<string> {
  const { items } = await tables.apiKeys.list();
  for (const { id, name } of items) if (name === NAME) await tables.apiKeys.delete(id);
  const [id, secret] = [tables.newKeyId(), tables.newKeySecret()];
  const rights = [{ topics: '*', groups: '*', targets: '*', allow: RIGHTS }];
  await createApiKey(tables, { name: NAME, rights }, { id, hash: hashOfSecret(secret) }, 'start');
  return apiKeyText(id, secret);
}

import { type Command, InvalidArgumentError } from 'commander';
import { type AccessRights, ApiError } from '../client/index.ts';
import { idOfApiKeyText } from '../shared/wire/api-key-text.ts';
import { duration } from './arguments.ts';
import type { Runner } from './context.ts';
import { CommandFailure, EXIT } from './exit-codes.ts';
import { table } from './table.ts';

const EXAMPLES = `
Examples:
  $ vertebra keys create shop --allow produce --topics 'orders-*'
  $ vertebra keys create billing --allow consume --topics orders --groups 'billing*' --expires 90d
  $ vertebra keys create ops --allow produce,consume,subscribe,admin --topics '*' --groups '*' --targets '*'
  $ vertebra keys create both --rights '[{"topics":"a","allow":["produce"]},{"topics":"b","groups":"g","allow":["consume"]}]'
  $ vertebra keys list
  $ vertebra keys revoke 01J00000000000000000000000

Where the API is deployed, these commands are signed with AWS credentials, whatever else is: --profile names them.`;

/** `vertebra keys …` */
export function keysCommand(program: Command, run: Runner): void {
  const keys = program
    .command('keys')
    .summary('create, list and revoke API keys')
    .description('Creates, lists and revokes API keys.')
    .helpCommand(false)
    .addHelpText('after', EXAMPLES);
  addCreate(keys, run);
  addList(keys, run);
  addRevoke(keys, run);
}

const WORDS = ['produce', 'consume', 'subscribe', 'admin'] as const;

interface CreateOptions {
  readonly allow?: AccessRights['allow'];
  readonly topics?: string;
  readonly groups?: string;
  readonly targets?: string;
  readonly rights?: readonly AccessRights[];
  readonly expires?: number;
}

function addCreate(keys: Command, run: Runner): void {
  const create = keys
    .command('create')
    .argument('<name>', 'whom it is for')
    .description('Creates an API key and writes it, once: nobody can show it again.')
    .option('--allow <rights>', `what it may do: ${WORDS.join(', ')}, with commas`, words)
    .option('--topics <pattern>', 'with which topics; * stands for any characters')
    .option('--groups <pattern>', 'with which groups and subscriptions')
    .option('--targets <pattern>', "to which targets it may subscribe, such as 'lambda:*'")
    .option('--rights <json>', 'all of these in one, for several sets of them', rightsJson)
    .option(
      '--expires <time>',
      'how long it is worth something, such as 12h or 90d (default until it is revoked)',
      duration,
    );
  run<CreateOptions>(create, async ({ vertebra, json, print, tell }, options, name) => {
    const { expires } = options;
    const made = await vertebra.admin().createApiKey({
      name: name!,
      rights: rightsOf(options),
      ...(expires !== undefined && { expiresAt: Date.now() + expires }),
    });
    if (json) return print(JSON.stringify(made));
    tell(`Key ${made.id}. It is shown this once:`);
    await print(made.key);
  });
}

/** @throws {CommandFailure} */
function rightsOf({ allow, topics, groups, targets, rights }: CreateOptions): readonly AccessRights[] {
  const named = allow ?? topics ?? groups ?? targets;
  if (rights !== undefined && named !== undefined) {
    throw new CommandFailure('--rights stands alone: it says all that the others do', EXIT.usage);
  }
  if (rights !== undefined) return rights;
  if (allow === undefined) throw new CommandFailure('--allow or --rights says what the key may do', EXIT.usage);
  return [
    {
      ...(topics !== undefined && { topics }),
      ...(groups !== undefined && { groups }),
      ...(targets !== undefined && { targets }),
      allow,
    },
  ];
}

function words(text: string): AccessRights['allow'] {
  const found = text.split(',').map((word) => WORDS.find((known) => known === word));
  if (found.every((word) => word !== undefined)) return found;
  throw new InvalidArgumentError(`It must be some of ${WORDS.join(', ')}, with commas.`);
}

function rightsJson(text: string): readonly AccessRights[] {
  try {
    const value: unknown = JSON.parse(text);
    if (Array.isArray(value)) return value as AccessRights[]; // what is in it the API looks at
  } catch {
    // told below
  }
  throw new InvalidArgumentError('It must be a JSON list.');
}

function addList(keys: Command, run: Runner): void {
  const list = keys.command('list').description('Lists API keys: who they are and what they may do.');
  run(list, async ({ vertebra, json, print }) => {
    const found = await vertebra.admin().listApiKeys();
    if (json) return print(JSON.stringify(found));
    const lines = table(found, [
      { title: 'ID', of: ({ id }) => id },
      { title: 'NAME', of: ({ name }) => name },
      { title: 'MAY', of: ({ rights }) => rights.map(rightsText).join('; ') },
      { title: 'CREATED', of: ({ createdAt }) => new Date(createdAt).toISOString() },
      { title: 'BY', of: ({ createdBy }) => createdBy },
      { title: 'EXPIRES', of: ({ expiresAt }) => expiresAt && new Date(expiresAt).toISOString() },
    ]);
    for (const line of found.length === 0 ? [] : lines) await print(line);
  });
}

/** `produce, consume topics orders-* groups *` */
function rightsText({ allow, ...patterns }: AccessRights): string {
  return [allow.join(', '), ...Object.entries(patterns).flat()].join(' ');
}

function addRevoke(keys: Command, run: Runner): void {
  const revoke = keys
    .command('revoke')
    .argument('<id...>', 'as "keys list" tells it; of a whole key only the id in it is sent')
    .description('Revokes API keys. Within a minute they are worth nothing.')
    .option('--if-exists', 'exit code 0 when there is no such key');
  run<{ readonly ifExists?: boolean }>(revoke, async ({ vertebra, json, tell }, { ifExists }, ...given) => {
    for (const text of given.flat()) {
      const id = idOfApiKeyText(text) ?? text; // no secret gets into a URL
      try {
        await vertebra.admin().revokeApiKey(id);
        if (!json) tell(`Revoked ${id}.`);
      } catch (error) {
        if (!ifExists || !(error instanceof ApiError) || error.code !== 'api_key_not_found') throw error;
      }
    }
  });
}

import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type LocalBackbone, startLocalBackbone } from '../../local/embedding.ts';
import { command } from '../support/command-line.ts';

async function guarded() {
  const backbone = await startLocalBackbone({ auth: 'apiKey' });
  onTestFinished(() => backbone.dispose());
  const as = (key: string | undefined) => (args: readonly string[], input?: string) =>
    command(backbone.url, args, {
      env: key === undefined ? {} : { VERTEBRA_API_KEY: key },
      ...(input !== undefined && { input }),
    });
  return { as, admin: as(backbone.adminKey), nobody: as(undefined) };
}

describe('vertebra keys', () => {
  let unguarded: LocalBackbone;
  beforeAll(async () => {
    unguarded = await startLocalBackbone();
  });
  afterAll(() => unguarded.dispose());

  it('creates a key that may do what it was created for, lists it, and revokes it', async () => {
    const { as, admin } = await guarded();
    await admin(['topics', 'create', 'orders-eu', '--partitions', '1']);
    await admin(['topics', 'create', 'payments']);
    const made = await admin([
      'keys',
      'create',
      'shop',
      '--allow',
      'produce',
      '--topics',
      'orders-*',
      '--expires',
      '1d',
    ]);
    expect(made).toMatchObject({
      code: 0,
      err: expect.stringMatching(/^Key [0-9A-Z]{26}\. It is shown this once:\n$/),
    });
    const key = made.out.trim();
    expect(key).toMatch(/^vtb_[0-9A-Z]{26}_[\w-]{43}$/);
    const shop = as(key);
    expect(await shop(['produce', 'orders-eu'], 'a\n')).toMatchObject({ code: 0 });
    expect(await shop(['produce', 'payments'], 'a\n')).toMatchObject({
      code: 4,
      err: expect.stringMatching(/^vertebra: .*no right.* over topic 'payments'/m),
    });
    expect((await shop(['topics', 'list', '--json'])).out).toMatch(/^\[\{"name":"orders-eu"[^{]*\}\]\n$/);
    expect(await shop(['keys', 'list'])).toMatchObject({ code: 4, out: '' });
    const id = key.split('_')[1]!;
    const listed = (await admin(['keys', 'list'])).out.split('\n');
    expect(listed.find((line) => line.startsWith(id))).toMatch(
      /^\S+ {2}shop {3}produce topics orders-\* +\S+Z {2}key:[0-9A-Z]{26} {2}\S+Z$/,
    );
    expect(listed.join()).not.toContain(key);
    expect(await admin(['keys', 'revoke', id])).toEqual({ code: 0, out: '', err: `Revoked ${id}.\n` });
    expect(await shop(['produce', 'orders-eu'], 'a\n')).toMatchObject({ code: 4, err: expect.stringContaining('401') });
    expect(await admin(['keys', 'revoke', id])).toMatchObject({ code: 3 });
    expect(await admin(['keys', 'revoke', id, '--if-exists'])).toMatchObject({ code: 0 });
  });

  it('revokes by the whole key, too, whose secret it neither sends nor shows', async () => {
    const { as, admin } = await guarded();
    const made = await admin(['keys', 'create', 'shop', '--allow', 'produce', '--topics', '*', '--json']);
    const { id, key } = JSON.parse(made.out) as { id: string; key: string };
    expect(await admin(['keys', 'revoke', key])).toEqual({ code: 0, out: '', err: `Revoked ${id}.\n` });
    expect(await as(key)(['topics', 'list'])).toMatchObject({ code: 4 });
    const again = await admin(['keys', 'revoke', key]);
    expect(again).toMatchObject({ code: 3, err: expect.stringContaining(id) });
    expect(again.err).not.toContain(key);
  });

  it('tells whom the API asks for a key how one is given', async () => {
    const { nobody } = await guarded();
    const { err } = await nobody(['topics', 'list']);
    expect(err).toMatch(/401.*\nHere: set VERTEBRA_API_KEY, or give --api-key\.\n$/);
  });

  it('takes several sets of rights as JSON, and tells programs in JSON', async () => {
    const { admin } = await guarded();
    const rights = [
      { topics: 'a', allow: ['produce'] },
      { topics: 'b', groups: 'g', allow: ['consume'] },
    ];
    const made = await admin(['keys', 'create', 'both', '--rights', JSON.stringify(rights), '--json']);
    expect(JSON.parse(made.out)).toMatchObject({ name: 'both', rights, key: expect.stringMatching(/^vtb_/) });
    const listed = JSON.parse((await admin(['keys', 'list', '--json'])).out) as { name: string }[];
    expect(listed.find(({ name }) => name === 'both')).toEqual({
      ...{ id: expect.any(String), name: 'both', rights },
      ...{ createdAt: expect.any(Number), createdBy: expect.any(String) },
    });
  });

  it('ends with 4 for whom nobody knows', async () => {
    const { nobody, as } = await guarded();
    for (const someone of [nobody, as(`vtb_${'0'.repeat(26)}_${'x'.repeat(43)}`)]) {
      expect(await someone(['keys', 'list'])).toMatchObject({ code: 4, err: expect.stringContaining('401') });
    }
  });

  it.each([
    [['create'], "missing required argument 'name'"],
    [['create', 'a'], '--allow or --rights'],
    [['create', 'a', '--allow', 'produce,eat'], 'It must be some of produce, consume, subscribe, admin'],
    [['create', 'a', '--allow', 'produce'], '(400 invalid_request)'],
    [['create', 'a', '--allow', 'produce', '--rights', '[]'], '--rights stands alone'],
    [['create', 'a', '--rights', '{}'], 'It must be a JSON list'],
    [['create', 'a', '--allow', 'produce', '--topics', 'a', '--expires', 'soon'], 'It must be a time'],
    [['revoke'], "missing required argument 'id'"],
  ])('ends with 2 when it is called wrongly: %j', async (args, complaint) => {
    const result = await command(unguarded.url, ['keys', ...args]);
    expect(result).toMatchObject({ code: 2, out: '' });
    expect(result.err).toContain(complaint);
  });
});

import { createHash } from 'node:crypto';
import { createUpload } from '../../shared/operations/create-upload.ts';
import type { Run } from './run.ts';

const TRIES_MAX = 3;
const MINUTE = 60_000;

/**
 * Announces a payload and sends it, as producers do: most at once, some while others name it already, some late, twice,
 * or other bytes than were announced, and some never.
 *
 * @returns its id, undefined when it could not be announced
 */
export async function upload(run: Run, topic: string): Promise<string | undefined> {
  const { random, recorder } = run;
  const text = `payload ${run.nextName()}`;
  const bytes = Buffer.from(text);
  const announced = await announce(run, topic, bytes);
  if (announced === undefined) return undefined;
  const { uploadId, url } = announced;
  recorder.announced.set(uploadId, text);
  const later = (ms: number) => void run.sleep(ms).then(() => send(run, url, bytes));
  const how = random.next();
  if (how < 0.05) return uploadId;
  if (how < 0.1) later(random.pick([45, 59, 61, 300]) * MINUTE);
  else if (how < 0.2) later(random.between(0, 100));
  else {
    if (how < 0.3) await send(run, url, Buffer.from(random.pick(['', text.toUpperCase(), `${text}!`])));
    if (how > 0.25) await send(run, url, bytes);
    if (how > 0.9) later(random.pick([5, 2_000, 50 * MINUTE]));
  }
  return uploadId;
}

async function announce(run: Run, topic: string, bytes: Uint8Array) {
  const payload = { size: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') };
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const host = run.anyHost();
    run.harm(host);
    const told = await run.world.call(host, () => createUpload(host.backbone, topic, payload));
    if (told !== 'nothing' && 'answer' in told) return told.answer;
    if (told !== 'nothing') run.unexpected(told.error);
    await run.sleep(run.random.pick([0, 300, 2_000]));
  }
  return undefined;
}

async function send(run: Run, url: string, bytes: Uint8Array): Promise<void> {
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    if ((await run.world.put(url, bytes)) !== 'nothing') return;
    await run.sleep(run.random.between(0, 1_000));
  }
}

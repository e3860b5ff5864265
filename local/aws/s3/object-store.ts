import { randomUUID } from 'node:crypto';
import type { Readable } from 'node:stream';
import { KeyLocks } from '../storage/key-locks.ts';
import type { Records } from '../storage/records.ts';
import type { Bodies, ByteRange } from './bodies.ts';
import { type Algorithm, Digests } from './checksums.ts';
import { noSuchBucket, noSuchKey, preconditionFailed, S3Error } from './s3-error.ts';

/** What is known of an object besides its bytes. */
export interface StoredObject {
  /** Id of its body. */
  readonly body: string;
  readonly size: number;
  /** MD5 in hex, quoted. */
  readonly etag: string;
  /** Epoch ms. */
  readonly modifiedAt: number;
  /** Headers to give back: content type and the like, and `x-amz-meta-…`. */
  readonly headers: Readonly<Record<string, string>>;
  /** The checksum that the sender gave and that was verified: base64. */
  readonly checksums: Partial<Record<Algorithm, string>>;
}

export interface PutConditions {
  /** `*`: only if there is no such object. */
  readonly ifNoneMatch: string | undefined;
  /** Only if the object there has this etag. */
  readonly ifMatch: string | undefined;
}

/**
 * Buckets and objects. A record names the body that an object has, so that one write of a record makes an object appear,
 * change or go; bodies that no record names are removed at the next start.
 *
 * s3-bucket~<name>            when it was made, epoch ms
 * s3-object~<bucket>~<key>    {@link StoredObject}; keys in the order of their UTF-8 bytes, as S3 lists them
 */
export class ObjectStore {
  readonly #records: Records;
  readonly #bodies: Bodies;
  readonly #now: () => number;
  readonly #locks = new KeyLocks();

  constructor(records: Records, bodies: Bodies, now: () => number) {
    this.#records = records;
    this.#bodies = bodies;
    this.#now = now;
  }

  /** Removes bodies whose objects never came to be, or are gone: a kill can leave them. */
  async open(): Promise<void> {
    const orphans = new Set(await this.#bodies.ids());
    for await (const [, { body }] of this.#records.entries<StoredObject>('s3-object~')) orphans.delete(body);
    for (const id of orphans) await this.#bodies.remove(id);
  }

  async buckets(): Promise<[name: string, madeAt: number][]> {
    const found: [string, number][] = [];
    for await (const bucket of this.#records.entries<number>('s3-bucket~')) found.push(bucket);
    return found;
  }

  /** @returns whether it is new */
  async createBucket(bucket: string): Promise<boolean> {
    if ((await this.#records.get(`s3-bucket~${bucket}`)) !== undefined) return false;
    await this.#records.put(`s3-bucket~${bucket}`, this.#now());
    return true;
  }

  async deleteBucket(bucket: string): Promise<void> {
    await this.requireBucket(bucket);
    for await (const _ of this.#records.entries(`s3-object~${bucket}~`, { limit: 1 })) {
      throw new S3Error(409, 'BucketNotEmpty', 'The bucket you tried to delete is not empty');
    }
    await this.#records.del(`s3-bucket~${bucket}`);
  }

  /** @throws {S3Error} NoSuchBucket */
  async requireBucket(bucket: string): Promise<void> {
    if ((await this.#records.get(`s3-bucket~${bucket}`)) === undefined) throw noSuchBucket(bucket);
  }

  /** @throws {S3Error} NoSuchBucket, NoSuchKey */
  async find(bucket: string, key: string): Promise<StoredObject> {
    const found = await this.#records.get<StoredObject>(`s3-object~${bucket}~${key}`);
    if (found) return found;
    await this.requireBucket(bucket);
    throw noSuchKey(key);
  }

  /** Undefined: the object was replaced or removed since it was found. */
  read(object: StoredObject, range?: ByteRange): Promise<Readable | undefined> {
    return this.#bodies.read(object.body, range);
  }

  /**
   * Stores an object whole or not at all. `check` sees the digests of the body before the object appears, and says
   * which checksums are kept with it.
   */
  async put(
    bucket: string,
    key: string,
    body: AsyncIterable<Uint8Array>,
    headers: Record<string, string>,
    conditions: PutConditions,
    check: (digests: { size: number; md5: Buffer; checksums: Record<Algorithm, string> }) => StoredObject['checksums'],
  ): Promise<StoredObject> {
    await this.requireBucket(bucket);
    const id = randomUUID();
    const digests = new Digests();
    await this.#bodies.write(id, digests.through(body));
    try {
      const ended = digests.end();
      const object: StoredObject = {
        body: id,
        size: digests.size,
        etag: `"${ended.md5.toString('hex')}"`,
        modifiedAt: this.#now(),
        headers,
        checksums: check({ size: digests.size, ...ended }),
      };
      const record = `s3-object~${bucket}~${key}`;
      const before = await this.#locks.holding([record], async () => {
        const there = await this.#records.get<StoredObject>(record);
        allow(conditions, there, key);
        await this.#records.put(record, object);
        return there;
      });
      if (before) await this.#bodies.remove(before.body);
      return object;
    } catch (error) {
      await this.#bodies.remove(id);
      throw error;
    }
  }

  /** Removes an object; that there is none is no error. */
  async delete(bucket: string, key: string): Promise<void> {
    await this.requireBucket(bucket);
    const record = `s3-object~${bucket}~${key}`;
    const before = await this.#locks.holding([record], async () => {
      const there = await this.#records.get<StoredObject>(record);
      await this.#records.del(record);
      return there;
    });
    if (before) await this.#bodies.remove(before.body);
  }

  /** Objects after a key, in order, of those whose keys begin with `prefix`. */
  async *list(bucket: string, prefix: string, after: string): AsyncGenerator<[key: string, object: StoredObject]> {
    const start = Buffer.compare(Buffer.from(after), Buffer.from(prefix)) > 0 ? { gt: after } : { gte: prefix };
    for await (const [key, object] of this.#records.entries<StoredObject>(`s3-object~${bucket}~`, start)) {
      if (!key.startsWith(prefix)) return;
      yield [key, object];
    }
  }
}

function allow({ ifNoneMatch, ifMatch }: PutConditions, there: StoredObject | undefined, key: string): void {
  if (ifNoneMatch !== undefined && there) throw preconditionFailed('If-None-Match');
  if (ifMatch === undefined) return;
  if (!there) throw noSuchKey(key);
  if (ifMatch !== '*' && ifMatch.replaceAll('"', '') !== there.etag.replaceAll('"', ''))
    throw preconditionFailed('If-Match');
}

import { createWriteStream } from 'node:fs';
import { mkdir, open, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

/** First and last byte, both included. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/** Bodies of objects by an id that is never used twice; who owns which is written elsewhere. */
export interface Bodies {
  /** Keeps a body. A body that breaks off leaves nothing. */
  write(id: string, body: AsyncIterable<Uint8Array>): Promise<void>;
  /** Undefined: there is no such body (any more). One that has been opened can be read to its end. */
  read(id: string, range?: ByteRange): Promise<Readable | undefined>;
  remove(id: string): Promise<void>;
  /** Ids of all bodies, those of writes that a kill interrupted included. */
  ids(): Promise<string[]>;
}

export async function openBodies(folder: string | undefined): Promise<Bodies> {
  if (folder === undefined) return new MemoryBodies();
  await mkdir(folder, { recursive: true });
  return new DiskBodies(folder);
}

class DiskBodies implements Bodies {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  async write(id: string, body: AsyncIterable<Uint8Array>): Promise<void> {
    try {
      await pipeline(body, createWriteStream(join(this.#folder, id), { flags: 'wx' }));
    } catch (error) {
      await this.remove(id);
      throw error;
    }
  }

  async read(id: string, range?: ByteRange): Promise<Readable | undefined> {
    try {
      const file = await open(join(this.#folder, id));
      return file.createReadStream(range);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw error;
    }
  }

  async remove(id: string): Promise<void> {
    await rm(join(this.#folder, id), { force: true });
  }

  ids(): Promise<string[]> {
    return readdir(this.#folder);
  }
}

class MemoryBodies implements Bodies {
  readonly #bodies = new Map<string, Buffer>();

  async write(id: string, body: AsyncIterable<Uint8Array>): Promise<void> {
    const chunks: Uint8Array[] = [];
    for await (const chunk of body) chunks.push(chunk);
    this.#bodies.set(id, Buffer.concat(chunks));
  }

  async read(id: string, range?: ByteRange): Promise<Readable | undefined> {
    const body = this.#bodies.get(id);
    if (!body) return undefined;
    return Readable.from([range ? body.subarray(range.start, range.end + 1) : body]);
  }

  async remove(id: string): Promise<void> {
    this.#bodies.delete(id);
  }

  async ids(): Promise<string[]> {
    return [...this.#bodies.keys()];
  }
}

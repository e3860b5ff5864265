import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { S3Client } from '@aws-sdk/client-s3';
import { openEmbeddedAws } from '../local/aws/embedded-aws.ts';
import { containerOf, createBackboneResources, type Sent } from './backbone.ts';
import { startChild } from './child.ts';
import { type MemoryCase, memoryCases } from './memory-cases.ts';
import type { FiledRequest, MemoryAnswer, MemoryQuestion } from './memory-process.ts';
import { type Progress, type Section, tableOf } from './section.ts';

const MB = 1_000_000;
/** KB of each of 1,000 records: the larger ones are about as many as a request or an answer takes. */
const SIZES_KB = [1, 4];
const WARM_UPS = 20;
/** Source: the project's own targets. */
const RATIO_TARGET = 3;
/** What a request may need besides, whatever its size: objects of 1,000 records, pieces that are compressed, the calls. */
const CONSTANT_MB = 1.5;

interface MemoryRow {
  readonly path: string;
  readonly sizeMb: number;
  readonly neededMb: number;
  readonly ratio: number;
  readonly tookMb: number;
  readonly verdict: string;
}

const HEADS = {
  path: 'path',
  sizeMb: 'MB',
  neededMb: 'needed MB',
  ratio: 'ratio',
  tookMb: 'took MB',
  verdict: 'target',
};

interface Sample {
  readonly sizeMb: number;
  readonly neededMb: number;
  readonly tookMb: number;
}

/** What produce and fetch need beyond the idle process, beside the size of the request or answer. */
export async function measureMemory(progress: Progress): Promise<Section> {
  const aws = await openEmbeddedAws();
  const [dynamodb, s3] = [new DynamoDBClient(aws.clientConfig()), new S3Client(aws.clientConfig())];
  const folder = await mkdtemp(join(tmpdir(), 'vertebra-bench-'));
  const rows: MemoryRow[] = [];
  try {
    await createBackboneResources({ dynamodb, s3 });
    const call = containerOf(dynamodb, Date, s3);
    for (const kb of SIZES_KB) {
      for (const measured of await memoryCases(call, kb)) {
        progress(`${measured.path}, ${kb} KB`);
        rows.push(memoryRow(measured.path, await measure(aws.endpoint, folder, measured)));
      }
    }
  } finally {
    dynamodb.destroy();
    s3.destroy();
    await aws.close();
    await rm(folder, { recursive: true });
  }
  return {
    title: 'memory of a request, beyond the idle process',
    tables: [tableOf('1,000 records of 1 KB and of 4 KB', HEADS, rows)],
    laws: [],
    notes: [
      'needed: most in use at a time, garbage collected at every step that makes something large. took: largest resident set.',
      'MB: the body of the event or of the function’s result, base64 included, or decompressed. orders compress, the others do not.',
    ],
  };
}

function memoryRow(path: string, sample: Sample): MemoryRow {
  const { sizeMb, neededMb } = sample;
  const met = neededMb <= RATIO_TARGET * sizeMb + CONSTANT_MB;
  const verdict = `≤ ${RATIO_TARGET} × MB + ${CONSTANT_MB}: ${met ? 'met' : 'MISSED'}`;
  return { path, ...sample, ratio: neededMb / sizeMb, verdict };
}

/** One request in a process of its own, whose AWS clients reach the services over HTTP. */
async function measure(endpoint: string, folder: string, { warmUp, request }: MemoryCase): Promise<Sample> {
  const child = startChild('memory-process.ts', {}, ['--expose-gc']);
  try {
    const filed = await fileOf(folder, warmUp);
    const question: MemoryQuestion = {
      endpoint,
      warmUp: Array.from({ length: WARM_UPS }, () => filed),
      request: await fileOf(folder, request),
    };
    const { neededBytes, tookBytes, requestBytes, answerBytes } = await child.ask<MemoryAnswer>(question);
    const sizeBytes = Math.max(requestBytes, answerBytes);
    return { sizeMb: sizeBytes / MB, neededMb: neededBytes / MB, tookMb: tookBytes / MB };
  } finally {
    await child.close();
  }
}

async function fileOf(folder: string, { body, ...sent }: Sent): Promise<FiledRequest> {
  if (body === undefined) return sent;
  const bodyFile = join(await mkdtemp(join(folder, 'body-')), 'body');
  await writeFile(bodyFile, body);
  return { ...sent, bodyFile };
}

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
/** KB of each of 1,000 records: two sizes tell what grows with the request or answer from what does not. */
const [SMALL_KB, LARGE_KB] = [1, 4];
const WARM_UPS = 20;
/** Source: the project's own targets. */
const RATIO_TARGET = 3;

interface MemoryRow {
  readonly path: string;
  readonly sizeMb: number;
  readonly neededMb: number;
  readonly growth: number;
  readonly constantMb: number;
  readonly tookMb: number;
  readonly verdict: string;
}

const HEADS = {
  path: 'path',
  sizeMb: 'MB',
  neededMb: 'needed MB',
  growth: 'per MB',
  constantMb: 'constant MB',
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
    const small = await memoryCases(call, SMALL_KB);
    const large = await memoryCases(call, LARGE_KB);
    for (const [i, measured] of small.entries()) {
      progress(measured.path);
      const [less, more] = await Promise.all([
        measure(aws.endpoint, folder, measured),
        measure(aws.endpoint, folder, large[i]!),
      ]);
      rows.push(memoryRow(measured.path, less, more));
    }
  } finally {
    dynamodb.destroy();
    s3.destroy();
    await aws.close();
    await rm(folder, { recursive: true });
  }
  return {
    title: 'memory of a request, beyond the idle process',
    tables: [tableOf('1,000 records of 4 KB; growth and constant by comparison with 1 KB', HEADS, rows)],
    laws: [],
    notes: [
      'needed: most in use at a time, garbage collected at every step that makes something large. took: largest resident set.',
      'Of the event the body counts, of the answer what the function returns. orders compress, the other events do not.',
    ],
  };
}

function memoryRow(path: string, small: Sample, large: Sample): MemoryRow {
  const growth = (large.neededMb - small.neededMb) / (large.sizeMb - small.sizeMb);
  const verdict = `per MB ≤ ${RATIO_TARGET}: ${growth <= RATIO_TARGET ? 'met' : 'MISSED'}`;
  return { path, ...large, growth, constantMb: small.neededMb - growth * small.sizeMb, verdict };
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
    const { neededBytes, tookBytes, answerBytes } = await child.ask<MemoryAnswer>(question);
    return { sizeMb: (request.body?.length ?? answerBytes) / MB, neededMb: neededBytes / MB, tookMb: tookBytes / MB };
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

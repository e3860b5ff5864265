import { type Indexed, logOf, type Violation } from './history.ts';

/** The promises of uploads: a record has the one that it named, nobody else has it, and its bytes are those announced. */
export function checkUploads({ stored, callsOf, payloads }: Indexed): Violation[] {
  const found: Violation[] = [];
  const holders = new Map<string, string>();
  for (const batch of stored) {
    for (const [i, record] of batch.records.entries()) {
      const place = `${record}, ${logOf(batch)}@${batch.base + i}`;
      const uploadId = batch.uploads?.get(i);
      const named = callsOf.get(record)?.[0]?.uploads?.get(record);
      if (uploadId !== named) found.push({ kind: 'changed', what: `${place}: named ${named}, has ${uploadId}` });
      if (uploadId === undefined) continue;
      const other = holders.get(uploadId);
      if (other !== undefined) found.push({ kind: 'upload used twice', what: `${uploadId}: ${other} and ${place}` });
      holders.set(uploadId, place);
    }
  }
  for (const read of payloads) {
    if (read.got === read.expected) continue;
    const what = `${read.uploadId} of ${logOf(read)}@${read.offset}, by ${read.reader} at ${read.at}`;
    if (read.got === undefined) found.push({ kind: 'lost payload', what });
    else found.push({ kind: 'changed', what: `${what}: '${read.got}' instead of '${read.expected}'` });
  }
  return found;
}

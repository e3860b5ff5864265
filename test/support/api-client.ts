/** The few calls that tests over HTTP repeat. `url` is the server's. */
export interface Placed {
  readonly partition: number;
  readonly offset: number;
}

export async function createTopic(url: string, topic: string, settings: object = {}): Promise<void> {
  const response = await fetch(`${url}/v1/topics/${topic}`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(settings),
  });
  if (response.status !== 201) throw new Error(`PUT ${topic}: ${response.status} ${await response.text()}`);
}

/** Appends lines as NDJSON, the key taken from each by `pointer`. @returns where each went, in the order sent */
export async function produceLines(
  url: string,
  topic: string,
  lines: readonly string[],
  pointer: string,
): Promise<Placed[]> {
  const response = await fetch(`${url}/v1/topics/${topic}/records?key=${encodeURIComponent(pointer)}`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-ndjson' },
    body: `${lines.join('\n')}\n`,
  });
  const body = (await response.json()) as { offsets: Placed[] };
  if (response.status !== 200) throw new Error(`produce: ${response.status} ${JSON.stringify(body).slice(0, 500)}`);
  return body.offsets;
}

export interface ReadRecord {
  readonly offset: number;
  readonly key: string | null;
  /** The value's bytes as text. */
  readonly value: string;
}

/** Everything in a partition up to its end, which must be reached before `deadlineMs` is over. */
export async function readPartition(
  url: string,
  topic: string,
  partition: number,
  deadlineMs = 10_000,
): Promise<ReadRecord[]> {
  const { partitions } = await getJson<{ partitions: { logEndOffset: number }[] }>(
    `${url}/v1/topics/${topic}/partitions`,
  );
  const end = partitions[partition]!.logEndOffset;
  const base = `${url}/v1/topics/${topic}/partitions/${partition}/records?values=utf8&maxRecords=1000&waitMs=1000`;
  const records: ReadRecord[] = [];
  const giveUpAt = Date.now() + deadlineMs;
  for (let offset = 0; offset < end; ) {
    if (Date.now() > giveUpAt) throw new Error(`partition ${partition} was read to ${offset}, not to ${end}`);
    const page = await getJson<{ records: ReadRecord[]; nextOffset: number }>(`${base}&offset=${offset}`);
    records.push(...page.records);
    offset = page.nextOffset;
  }
  return records;
}

async function getJson<T>(url: string): Promise<T> {
  const response = await fetch(url);
  if (response.status !== 200) throw new Error(`GET ${url}: ${response.status} ${await response.text()}`);
  return (await response.json()) as T;
}

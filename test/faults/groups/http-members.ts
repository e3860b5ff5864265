const GROUP = 'billing';
const TOPIC = 'orders';
const SESSION_MS = 6_000;
const PAUSE_MS = 20;
const CALL_TIMEOUT_MS = 30_000;

interface Owned {
  readonly topic: string;
  readonly partition: number;
  readonly epoch: number;
  readonly offset: number;
}

interface PollAnswer {
  readonly memberId: string;
  readonly assigned: readonly Owned[];
  readonly revoked: readonly Omit<Owned, 'offset'>[];
  readonly commits: readonly { readonly partition: number; readonly offset: number; readonly error?: object }[];
  readonly records: readonly {
    readonly partition: number;
    readonly offset: number;
    readonly value: { readonly id: string };
  }[];
}

/** Members of a group, and producers, that talk HTTP to a backbone which is killed and started again under them. */
export class HttpMembers {
  /** Where the backbone is; undefined while it is down. */
  url: string | undefined;
  /** Ids of records whose append was acknowledged, and of those that a member has handled. */
  readonly acknowledged = new Set<string>();
  readonly handled = new Set<string>();
  /** Highest offset by partition whose commit was accepted. */
  readonly committed = new Map<number, number>();
  polls = 0;
  readonly #partitions: number;
  #names = 0;
  #produces = true;
  #over = false;

  constructor(partitions: number) {
    this.#partitions = partitions;
  }

  start(members: number, producers: number): Promise<unknown> {
    const all = Array.from({ length: producers }, () =>
      this.#whileTrue(
        () => this.#produces,
        () => this.#produce(),
      ),
    );
    for (let i = 0; i < members; i++) {
      const member = new Member(this);
      all.push(
        this.#whileTrue(
          () => !this.#over,
          () => member.poll(),
        ),
      );
    }
    return Promise.all(all);
  }

  stopProducing(): void {
    this.#produces = false;
  }

  finish(): void {
    this.#over = true;
  }

  /** @returns undefined while the backbone is down, or refuses for now */
  async post<T>(
    path: string,
    body: object,
    headers = {},
  ): Promise<{ status: number; body: T & { code?: string } } | undefined> {
    if (this.url === undefined) return undefined;
    const response = await fetch(`${this.url}/v1/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(CALL_TIMEOUT_MS),
    });
    const answer = { status: response.status, body: (await response.json()) as T & { code?: string } };
    return answer.status === 503 || answer.status === 429 ? undefined : answer;
  }

  async #produce(): Promise<void> {
    const id = `n${++this.#names}`;
    const records = [{ partition: this.#names % this.#partitions, value: { id } }];
    for (;;) {
      const answer = await this.post<{ offsets: { error?: object }[] }>(
        `topics/${TOPIC}/records`,
        { records },
        { 'idempotency-key': id },
      ).catch(passing);
      if (answer?.status === 200 && answer.body.offsets.every(({ error }) => error === undefined)) break;
      await pause();
    }
    this.acknowledged.add(id);
  }

  async #whileTrue(goesOn: () => boolean, act: () => Promise<void>): Promise<void> {
    while (goesOn()) {
      await act();
      await pause();
    }
  }
}

class Member {
  readonly #all: HttpMembers;
  #memberId: string | undefined;
  #held: readonly Owned[] = [];
  #revoked: readonly Omit<Owned, 'offset'>[] = [];

  constructor(all: HttpMembers) {
    this.#all = all;
  }

  async poll(): Promise<void> {
    const who =
      this.#memberId === undefined ? { topics: [TOPIC], sessionTimeoutMs: SESSION_MS } : { memberId: this.#memberId };
    const request = { ...who, positions: this.#held, commit: this.#held, release: this.#revoked };
    const answer = await this.#all.post<PollAnswer>(`groups/${GROUP}/poll`, request).catch(passing);
    if (answer === undefined) return;
    if (answer.body.code === 'member_not_found') {
      this.#memberId = undefined;
      this.#held = [];
      this.#revoked = [];
      return;
    }
    if (answer.status !== 200) throw new Error(`poll: ${answer.status} ${answer.body.code}`);
    const { memberId, assigned, revoked, commits, records } = answer.body;
    this.#memberId = memberId;
    this.#held = assigned;
    this.#revoked = revoked;
    this.#all.polls += 1;
    for (const { partition, offset, error } of commits) {
      if (error !== undefined) continue;
      this.#all.committed.set(partition, Math.max(offset, this.#all.committed.get(partition) ?? 0));
    }
    for (const { value } of records) this.#all.handled.add(value.id);
  }
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
}

/** What fails because the backbone is down is tried again. */
function passing(error: unknown): undefined {
  if (!(error instanceof TypeError || error instanceof DOMException || error instanceof SyntaxError)) throw error;
}

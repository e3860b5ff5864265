import { SendMessageCommand } from '@aws-sdk/client-sqs';
import type { DeadLetter } from '../domain/dead-letter.ts';
import { deadLetterIdText } from '../domain/dead-letter.ts';
import type { GroupId } from '../domain/group.ts';
import { WriteAttempts } from './dynamo.ts';
import { LAYOUT_VERSION } from './keys.ts';
import type { SQS } from './wake-queue.ts';

/*
 * A message, as JSON: {"v": "1", "id": "<topicId>.<partition>.<offset>", "group", "topic", "partition", "offset",
 *                      "error": {"name", "message"}, "attempts", "deadLetteredAt"}
 *
 *   id   names the dead letter within its group: the API has the record itself
 */

/** Where people and their alarms hear of records that a group could not handle. Standard queue: at least once. */
export class DeadLetterQueue {
  readonly #sqs: SQS;
  readonly #url: string;

  constructor(sqs: SQS, url: string) {
    this.#sqs = sqs;
    this.#url = url;
  }

  /** Tells of one, without its payload. @throws {WriteFailed} it may have been told */
  async tell(group: GroupId, letter: DeadLetter): Promise<void> {
    const command = new SendMessageCommand({ QueueUrl: this.#url, MessageBody: encodeDeadLetter(group, letter) });
    await new WriteAttempts(command).outcome(this.#sqs.send(command));
  }
}

export function encodeDeadLetter({ name: group }: GroupId, letter: DeadLetter): string {
  const { topic, partition, offset, error, attempts, deadLetteredAt } = letter;
  const id = deadLetterIdText(letter);
  return escapeForbidden(
    JSON.stringify({ v: LAYOUT_VERSION, id, group, topic, partition, offset, error, attempts, deadLetteredAt }),
  );
}

/**
 * SQS refuses a text with U+FFFE or U+FFFF; the control characters that it refuses as well, JSON has escaped.
 * Source: AWS, SQS, "SendMessage", `MessageBody`.
 */
function escapeForbidden(json: string): string {
  return json.replaceAll('\ufffe', '\\ufffe').replaceAll('\uffff', '\\uffff');
}

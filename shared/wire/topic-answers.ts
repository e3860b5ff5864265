import type { DeletedTopic, Page, Topic } from '../domain/topic.ts';
import { type ApiAnswer, jsonAnswer } from './http-answer.ts';
import { type ListKind, toNextToken } from './next-token.ts';

/** A topic as the API shows it. */
export function topicJson({ name, id, partitions, retentionMs, createdAt, quota, maxLag }: Topic) {
  return { name, id, partitions, retentionMs, createdAt, ...(quota && { quota }), ...(maxLag && { maxLag }) };
}

/**
 * The answer to a PUT. `keysMoved` appears when partitions were added: keyed records go elsewhere from now on.
 * `retentionAppliesTo` appears when the retention became longer: what was appended before leaves as it would have.
 */
export function putTopicAnswer(put: {
  topic: Topic;
  created: boolean;
  keysMoved: boolean;
  retentionLengthened: boolean;
}): ApiAnswer {
  return jsonAnswer(
    {
      ...topicJson(put.topic),
      ...(put.keysMoved && { keysMoved: true }),
      ...(put.retentionLengthened && { retentionAppliesTo: 'later_appends' }),
    },
    put.created ? 201 : 200,
  );
}

export function topicListAnswer(page: Page<Topic>): ApiAnswer {
  return jsonAnswer({ topics: page.items.map(topicJson), ...nextTokenOf('topics', page) });
}

/** Topics whose data is still being removed. */
export function deletedTopicListAnswer(page: Page<DeletedTopic & { readonly slotsLeft: number }>): ApiAnswer {
  const topics = page.items.map(({ name, id, deletedAt, slotsLeft }) => ({ name, id, deletedAt, slotsLeft }));
  return jsonAnswer({ topics, ...nextTokenOf('deletedTopics', page) });
}

function nextTokenOf(kind: ListKind, page: Page<unknown>): { nextToken?: string } {
  return page.next === undefined ? {} : { nextToken: toNextToken(kind, page.next) };
}

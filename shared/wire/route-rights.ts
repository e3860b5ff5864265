import type { Right } from '../domain/rights.ts';
import type { ROUTES } from './routes.ts';

/** What a caller needs for a route, and where the names stand over which it needs it. */
export type RouteRight =
  /** Nothing: open to all who reach the API. */
  | 'open'
  /** To be known. It is answered with what the caller has any right over. */
  | 'list'
  /** The right `admin` over everything. */
  | 'everything'
  | NamedRight;

export interface NamedRight {
  /** `any`: one of the four will do. */
  readonly right: Right | 'any';
  /** What the path names. */
  readonly path: 'topic' | 'group';
  /** The query parameter that names a topic. */
  readonly query?: 'topic';
  /** Where a JSON body names topics: fields, `[]` for each entry of a list. */
  readonly body?: readonly string[];
}

type RouteKey = (typeof ROUTES)[number]['key'];

const topic = (right: NamedRight['right']): NamedRight => ({ right, path: 'topic' });
const group = (right: NamedRight['right'], ...body: string[]): NamedRight => ({ right, path: 'group', body });
const HELD = ['positions[].topic', 'commit[].topic', 'release[].topic'];

/**
 * The right of every route. Where a request names several topics it is needed for each of them, together with the group. What
 * a request concerns without naming it is asked where it is found out: the topics of a member that polls, those of a
 * subscription that gets another target.
 */
export const ROUTE_RIGHTS: { readonly [key in RouteKey]: RouteRight } = {
  'POST /v1/topics/{topic}/records': topic('produce'),
  'POST /v1/topics/{topic}/partitions/{partition}/records': topic('produce'),
  'POST /v1/topics/{topic}/events': topic('produce'),
  'POST /v1/topics/{topic}/prepare': topic('produce'),
  'POST /v1/topics/{topic}/settle': topic('produce'),
  'POST /v1/topics/{topic}/uploads': topic('produce'),
  'GET /v1/topics/{topic}/partitions/{partition}/records': topic('consume'),
  'GET /v1/topics': 'list',
  'PUT /v1/topics/{topic}': topic('admin'),
  'GET /v1/topics/{topic}': topic('any'),
  'DELETE /v1/topics/{topic}': topic('admin'),
  'GET /v1/topics/{topic}/partitions': topic('any'),
  'GET /v1/topics/{topic}/offsets': topic('any'),
  'POST /v1/groups/{group}/poll': group('consume', 'topics[]', 'paused[].topic', ...HELD),
  'POST /v1/groups/{group}/heartbeat': group('consume', ...HELD),
  'POST /v1/groups/{group}/leave': group('consume'),
  'POST /v1/groups/{group}/commits': group('consume', 'offsets[].topic'),
  'POST /v1/groups/{group}/dead-letters': group('consume', 'topic'),
  'GET /v1/groups/{group}/dead-letters': { ...group('consume'), query: 'topic' },
  'DELETE /v1/groups/{group}/dead-letters/{id}': group('consume'),
  'GET /v1/groups/{group}/dead-letters/{id}': group('consume'),
  'POST /v1/groups/{group}/dead-letters/redrive': group('consume', 'filter.topic'),
  'GET /v1/groups': 'list',
  'GET /v1/groups/{group}': group('any'),
  'DELETE /v1/groups/{group}': group('admin'),
  'PUT /v1/groups/{group}/offsets': group('consume', 'topic'),
  'GET /v1/subscriptions': 'list',
  'PUT /v1/subscriptions/{name}': group('subscribe', 'topics[]'),
  'GET /v1/subscriptions/{name}': group('any'),
  'DELETE /v1/subscriptions/{name}': group('subscribe'),
  'POST /v1/subscriptions/{name}/pause': group('subscribe'),
  'POST /v1/subscriptions/{name}/resume': group('subscribe'),
  'POST /v1/subscriptions/{name}/seek': group('subscribe', 'topic'),
  'POST /v1/subscriptions/{name}/rotate-secret': group('subscribe'),
  'GET /v1/subscriptions/{name}/parked': group('subscribe'),
  'POST /v1/subscriptions/{name}/parked/resume': group('subscribe'),
  'POST /v1/subscriptions/{name}/parked/dead-letter': group('subscribe'),
  'GET /v1/subscriptions/{name}/dead-letters': { ...group('subscribe'), query: 'topic' },
  'GET /v1/subscriptions/{name}/dead-letters/{id}': group('subscribe'),
  'DELETE /v1/subscriptions/{name}/dead-letters/{id}': group('subscribe'),
  'POST /v1/subscriptions/{name}/dead-letters/redrive': group('subscribe', 'filter.topic'),
  'POST /v1/api-keys': 'everything',
  'GET /v1/api-keys': 'everything',
  'DELETE /v1/api-keys/{id}': 'everything',
  'GET /v1/health': 'open',
  'GET /v1/openapi.json': 'open',
};

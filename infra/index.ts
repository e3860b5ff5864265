/** The constructs, for stacks of other people: `import { EventBackbone } from 'vertebra/infra'`. */
export { LOG_LEVELS, type LogLevel } from './constructs/backbone-function.ts';
export type {
  Auth,
  Concurrency,
  EventBackboneProps,
  JwtIssuer,
} from './constructs/backbone-props.ts';
export {
  BackboneSubscription,
  type SubscribeProps,
  type SubscribeToProps,
} from './constructs/backbone-subscription.ts';
export { BackboneTopic, type TopicProps } from './constructs/backbone-topic.ts';
export { EventBackbone, type Names } from './constructs/event-backbone.ts';
export type { TopicLimits, TopicRates } from './constructs/topic-limits.ts';

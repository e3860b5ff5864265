/** The constructs, for stacks of other people: `import { EventBackbone } from 'vertebra/infra'`. */
export { LOG_LEVELS, type LogLevel } from './constructs/backbone-function.ts';
export { EventBackbone, type EventBackboneProps } from './constructs/event-backbone.ts';

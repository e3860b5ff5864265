/** Situations in which the rules of deliveries matter. */
export const PUSH_SITUATIONS = [
  // What was done to wake-ups.
  'wake-up lost',
  'wake-up doubled',
  'wake-up late',
  'wake-up returned',
  'wake-up returned though it was done',
  'served aside',
  'died aside',
  'delivery ran out of time',
  // What was done to deliveries.
  'delivery died in a call',
  'delivery stood still in a call',
  'answer of a target lost',
  // What targets said.
  'delivered',
  'failed at a record',
  'failed without a name',
  'target away',
  'target hung',
  'target without permission',
  'target gone',
  'target took a part',
  'record too large',
  // What the tables held.
  'position taken',
  'taken after its time',
  'batch halved',
  'dead letter kept',
  'halted by dead letters',
  'overtaken by retention',
  'paused in mid-delivery',
  'sought in mid-delivery',
  'subscription deleted in mid-delivery',
  'subscription made again',
  'position of an added partition',
  'call of one who was fenced',
  'letter redriven',
  'redriven letter dead again',
  'redriven letter done',
  'redrives stopped',
  // What functions that process each record once met.
  'effect done',
  'effect found done',
  'effect fenced',
  'function died',
  'function stood still',
  'function went on though it was given up',
] as const;

export type PushSituation = (typeof PUSH_SITUATIONS)[number];

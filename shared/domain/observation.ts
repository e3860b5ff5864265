/** Something that an operation did or met which nobody asked for, for metrics and alarms. Carries no payload. */
export type Observation =
  | { readonly kind: 'append_fenced' | 'append_late' | 'stranger_in_slot'; readonly log: string }
  | { readonly kind: 'unknown_layout' }
  | { readonly kind: 'removals_deferred'; readonly count: number }
  | { readonly kind: 'topic_purged'; readonly topicId: string }
  | { readonly kind: 'group_purged'; readonly groupId: string }
  | { readonly kind: 'positions_reset' | 'dead_letters' | 'records_expired' | 'keys_parked'; readonly count: number }
  | { readonly kind: 'subscription_stopped'; readonly group: string }
  | { readonly kind: 'payload_missing' | 'payload_corrupt'; readonly log: string }
  | {
      readonly kind: 'slots_voided' | 'slots_purged' | 'records_appended' | 'records_read';
      readonly log: string;
      readonly count: number;
    };

export type Observe = (observation: Observation) => void;

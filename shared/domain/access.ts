import type { ShownKey } from './api-key.ts';
import type { Right, Used } from './rights.ts';

/** How callers are known, and what of them is asked. */
export interface AccessSettings {
  readonly auth: AuthMode;
  /** Whoever IAM lets in may do what it was granted, and no more. Without: everything. */
  readonly storedGrants: boolean;
}

export const AUTH_MODES = ['none', 'iam', 'apiKey', 'jwt'] as const;
export type AuthMode = (typeof AUTH_MODES)[number];

/** What a request says of who sends it: the gateway's word, which it has checked, and what the caller shows. */
export interface Identity {
  /** Of the IAM principal that signed it. */
  readonly userArn?: string;
  /** Of the token that the gateway took. */
  readonly subject?: string;
  /** Absent: none is shown. */
  readonly shown?: ShownKey | 'malformed';
}

/** What a request needs of its caller. */
export interface Need {
  /** Nothing: it is open to all who reach the API. */
  readonly isOpen: boolean;
  /** The gateway asks for a signature in any case: whoever may sign for it may do it. */
  readonly isSigned: boolean;
  /** Which rights, over what. Asked only of callers who may not do everything. */
  demands(): readonly Demand[];
}

export interface Demand {
  readonly right: Right | 'any';
  readonly used: Used;
}

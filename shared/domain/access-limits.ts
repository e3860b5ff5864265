/** Bounds of what is known of callers, with their reasons. */

/** How long a container answers from its copy of somebody's rights: what was revoked is worth nothing after a minute. */
export const ACCESS_COPY_MS = 60_000;
/** What is refused is judged by a copy that is no older: a right that was just given counts. */
export const ACCESS_REFUSAL_COPY_MS = 1_000;
/** Random bytes of an API key: with as many, its hash cannot be searched for. */
export const API_KEY_SECRET_BYTES = 32;
/** What an API key is called, in UTF-8. */
export const API_KEY_NAME_BYTES_MAX = 256;
/** How long the list shows a key that has expired: whoever wonders why it is refused finds it. */
export const API_KEY_EXPIRED_SHOWN_MS = 7 * 24 * 3_600_000;
/** Entries of one grant, or one key: at their longest they take two thirds of an item. */
export const RIGHTS_MAX = 100;
/** Source: OpenID Connect Core 1.0, section 2, `sub`: at most 255 ASCII characters. */
export const SUBJECT_BYTES_MAX = 255;

/** Bounds of what holds appends back: quotas, and groups that are behind. */

/** Appends for which a container takes quota at once: one write unit for so many. */
export const TAKES_AHEAD = 10;
/** What it takes at least, of a bucket's time: so a bucket is written to 10 times a second, however many append. */
export const TAKE_MS_MIN = 100;
/** What it takes ahead at most: the others wait meanwhile. An append that needs more takes what it needs. */
export const TAKE_MS_MAX = 250;
/** Of what its appends do not need, of one kind, a container keeps so much when it takes more. */
export const HAND_MS_MAX = 1_000;
/** What a container has not spent after so long is lost: nobody saves for a burst. */
export const HAND_LIFE_MS = 60_000;
/** Time that a bucket saves while nobody takes any. */
export const BURST_MS = 1_000;
/** How long a bucket outlives what was last taken of it: it tells nothing any more, then. */
export const BUCKET_LIFE_MS = 24 * 3_600_000;
/** Buckets that one container remembers: of topics, and of callers of each. */
export const BUCKETS_MAX = 10_000;
/** Requests with a key that one container remembers to have paid. */
export const PAID_MAX = 10_000;

/** Groups that may hold up one topic: for each, all of its positions are read. */
export const MAX_LAG_GROUPS_MAX = 8;
/** How old the lag may be by which an append is judged, where measuring it takes no longer. */
export const LAG_MEASURE_MS = 5_000;
/** Reads for which that is stretched: a topic of very many partitions is measured less often. Half a read unit each. */
export const LAG_READS_PER_SECOND_MAX = 200;
/** Who finds that another is measuring looks again after so long. */
export const LAG_LOOK_AGAIN_MS = 1_000;
/** How long what was measured is kept. */
export const LAG_LIFE_MS = 24 * 3_600_000;
/** Topics of which one container remembers the lag. */
export const LAG_TOPICS_MAX = 10_000;

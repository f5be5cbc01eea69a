/** The form of our event ids (UUID, version 7). */
const ourId = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i;

/**
 * Intake and crm-writer know a lead for 40 days; of what is older nobody can say that it was never accepted. A day less, so that no purge comes
 * between.
 */
const knownForMs = 39 * 86_400_000;

/** When an id of ours was made: its first 48 bits, in milliseconds. */
const madeAtMs = (id: string): number => Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16);

/** Whether a key has the form of our event ids, in whatever case. */
export const isLikeOurs = (key: string): boolean => ourId.test(key);

/** Whether of a lead under such an id somebody here would still know. */
export const isKept = (id: string, nowMs: number): boolean => madeAtMs(id) > nowMs - knownForMs;

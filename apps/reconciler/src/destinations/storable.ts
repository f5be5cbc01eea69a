import type { FoundRecord } from '#destinations';

/** Longest text of a record that is kept; far below what an index takes. */
const maxChars = 512;

/** PostgreSQL holds neither NUL nor half a character, which does not come through UTF-8. */
const clean = (text: string): string => Buffer.from(text.slice(0, maxChars)).toString().replaceAll('\0', ' ');

const cleanIfAny = (text: string | undefined): string | undefined => (text === undefined ? undefined : clean(text));

/**
 * A record whose texts can be kept: what a destination says beside the fields, which nobody keeps, is well formed and cut. One record that cannot be
 * written down would else end every comparison that comes to it.
 */
export function storable(record: FoundRecord): FoundRecord {
  const { ref, key, version, status, links, mergedRefs } = record;
  return {
    ...record,
    ref: clean(ref),
    key: cleanIfAny(key),
    version: cleanIfAny(version),
    status: cleanIfAny(status),
    ...(links && { links: Object.fromEntries(Object.entries(links).map(([name, value]) => [name, cleanIfAny(value)])) }),
    ...(mergedRefs && { mergedRefs: mergedRefs.map(clean) }),
  };
}

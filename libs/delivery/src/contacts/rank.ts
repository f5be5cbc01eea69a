/** Which submission came later, as text that compares by its bytes: when it was submitted, then its event id. */
export function rankOf({ submittedAt, eventId }: { submittedAt: Date; eventId: string }): string {
  // 15 digits hold any date that a Date holds from 1970 on; an earlier one is as old as it gets.
  return `${String(Math.max(submittedAt.getTime(), 0)).padStart(15, '0')}:${eventId.toLowerCase()}`;
}

/** Those of `fields` that a later submission has written, going by what is kept of each. */
export function newerFields(fields: readonly string[], kept: Readonly<Record<string, string>>, rank: string): string[] {
  return fields.filter((name) => Object.hasOwn(kept, name) && (kept[name] ?? '') > rank);
}

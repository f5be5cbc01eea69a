/** What a person may type to find a lead. */
export const searchKinds = [
  'event_id',
  'source_event_id',
  'operation_key',
  'attempt_id',
  'trace_id',
  'crm_id',
  'lead_ref',
  'email',
  'phone',
] as const;
export type SearchKind = (typeof searchKinds)[number];

/** One way to look for what was typed. */
export interface SearchTry {
  kind: SearchKind;
  value: string;
}

const uuid = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}';
const wholeUuid = new RegExp(`^${uuid}$`, 'i');
const operationKey = new RegExp(`^(${uuid}):.+:[^:]+$`, 'i');
const traceId = /^[0-9a-f]{32}$/i;
const traceparent = /^[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}$/i;
const leadRef = /^L-[0-9A-Z]{16}$/i;
const address = /^[^@\s]+@[^@\s]+$/;
/** What people write numbers with; fewer digits are no phone number anywhere. */
const phone = /^(?:tel:)?\+?[\d\s().\-/]{5,}(?:(?:;ext=|\s*(?:ext|x)\.?\s*)\d+)?$/i;
const enoughDigits = 6;

/**
 * The ways in which a typed text may name a lead, the surest first; a text may be several things at once, and then each is tried. `email` and
 * `phone` as the person said: nothing else is tried, however it looks. Pure.
 */
export function waysToRead(typed: string, kind: 'auto' | 'email' | 'phone'): SearchTry[] {
  const value = typed.trim();
  if (value === '') return [];
  if (kind !== 'auto') return [{ kind, value }];
  const trace = traceparent.exec(value)?.[1];
  if (trace !== undefined) return [{ kind: 'trace_id', value: trace }];
  const key = operationKey.exec(value);
  if (key !== null) return [{ kind: 'operation_key', value }, ...unlabelled(value)];
  if (wholeUuid.test(value)) return [...both(value, ['event_id', 'attempt_id']), ...unlabelled(value)];
  if (traceId.test(value)) return [{ kind: 'trace_id', value }, ...unlabelled(value)];
  if (leadRef.test(value)) return [{ kind: 'lead_ref', value }, ...unlabelled(value)];
  const ways = unlabelled(value);
  if (address.test(value)) ways.unshift({ kind: 'email', value });
  if (phone.test(value) && value.replace(/\D/g, '').length >= enoughDigits) ways.unshift({ kind: 'phone', value });
  return ways;
}

/** The event id that an operation key begins with. */
export function eventIdOf(key: string): string | undefined {
  return operationKey.exec(key)?.[1]?.toLowerCase();
}

const both = (value: string, kinds: readonly SearchKind[]): SearchTry[] => kinds.map((kind) => ({ kind, value }));
/** Ids of others may look like anything. */
const unlabelled = (value: string): SearchTry[] => both(value, ['source_event_id', 'crm_id']);

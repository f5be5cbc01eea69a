import type { Span } from '#runtime';
import type { LookupResult } from './outcome.js';
import { cleanText } from './sql/clean-text.js';
import type { StoredDelivery, StoredOperation } from './stored-delivery.js';
import type { VerifiedTarget } from './swept-target.js';

export interface Question {
  stored: StoredDelivery;
  operation: StoredOperation;
  span: Span;
  mostMs: number;
}

/** Asks a destination for its record of an operation. Never rejects: a connector that throws says nothing, and `threw` is told. */
export async function lookUp(
  target: VerifiedTarget,
  { stored, operation, span, mostMs }: Question,
  threw: (error: unknown) => void,
): Promise<LookupResult> {
  const { kind, operationKey } = operation;
  const context = {
    eventId: stored.eventId,
    personKey: stored.recordKey?.toString(),
    trace: span.context,
    timeoutMs: Math.min(target.lookupTimeoutMs ?? target.timeoutMs, mostMs),
  };
  try {
    return cleaned((await target.lookup?.({ kind, operationKey }, context)) ?? { kind: 'unknown', code: 'no_lookup' });
  } catch (error) {
    threw(error);
    return { kind: 'unknown', code: 'connector_threw' };
  }
}

function cleaned(result: LookupResult): LookupResult {
  if (result.kind === 'unknown') return { ...result, code: cleanText(result.code) };
  return result.kind === 'found' ? { kind: 'found', ref: cleanText(result.ref) } : result;
}

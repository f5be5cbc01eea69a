import type { DiscrepancyAspect, DiscrepancyClass, RepairKind } from '#delivery';

/** One thing that differs, before it is stored. It names fields and holds references, states and times; never a value of a person's. */
export interface Finding {
  class: DiscrepancyClass;
  aspect?: DiscrepancyAspect;
  kind?: string;
  eventId?: string;
  leadRef?: string;
  organization?: string;
  operationKey?: string;
  ref?: string;
  fields?: readonly string[];
  evidence: Record<string, string | number | boolean | string[]>;
  repair?: RepairKind;
  /** Of the lead or the record: which windows it lies in. Epoch milliseconds. */
  atMs: number;
}

/**
 * What makes a finding the same one in a later comparison. A person's record is one for all leads of that person, so it goes by its reference;
 * anything of a lead goes by the event.
 */
export function identityOf(destination: string, finding: Finding): string {
  const { kind = '', ref = '', eventId = '', aspect = '' } = finding;
  const byRecord = kind === 'contact' || ['duplicate', 'orphan', 'possible_manual_twin'].includes(finding.class);
  const about = byRecord && ref !== '' ? `ref:${ref}` : `event:${eventId}`;
  return [destination, finding.class, aspect, kind, about].map(encodeURIComponent).join('/');
}

import type { ExpectedLead, ExpectedRecord, FoundRecord } from '../connector.js';
import type { Followed } from './follow-merges.js';
import { comparable, opportunityFields, partyFields } from './mapping.js';
import { firstOf, type Mechanism, type Opportunity, type Party } from './records.js';

/** Who reads: records that this user wrote last are ours. */
export interface Reader {
  userId: number;
}

/** Keys of ours; what people type and what Tryton counts is none. */
const personKey = /^[0-9a-f]{32}$/;
const eventId = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** A party as the record of a person. Its addresses and numbers are part of it: whoever changed one changed the person. */
export function foundContact(party: Party, reader: Reader): FoundRecord {
  const [email, phone] = [firstOf(party, 'email'), firstOf(party, 'phone')];
  const parts = [party, ...[email, phone].filter((part): part is Mechanism => part !== undefined)];
  const last = parts.reduce((latest, part) => (writtenAt(part) > writtenAt(latest) ? part : latest));
  const by = ({ userId }: { userId?: number }): 'us' | 'other' => (userId === reader.userId ? 'us' : 'other');
  // Of an address that is not there nobody can say who took it away.
  const ofPart = (part: Mechanism | undefined) => (part === undefined ? 'unknown' : by(part));
  return {
    kind: 'contact',
    ref: String(party.id),
    ...(party.code !== undefined && personKey.test(party.code) && { key: party.code }),
    version: writtenAt(last),
    createdAt: party.createdAt,
    changedAt: writtenAt(last),
    changedBy: by(last),
    fieldsChangedBy: { name: by(party), email: ofPart(email), phone: ofPart(phone) },
    links: {},
    fields: { ...comparable({ name: party.name, email: email?.value, phone: phone?.value }) },
  };
}

/** A party that was asked for, as the one that stands for it now: under its own code, which a merge leaves to it. */
export function followedContact({ asked, party, merged }: Followed, reader: Reader): FoundRecord {
  const { key: _, ...record } = foundContact(party, reader);
  const { key } = foundContact(asked, reader);
  return { ...record, ...(key !== undefined && { key }), ...(merged.length > 0 && { mergedRefs: merged.map(String) }) };
}

const writtenAt = ({ changedAt, createdAt }: { changedAt?: string; createdAt?: string }): string => changedAt ?? createdAt ?? '';

/** An opportunity as the record of a lead. Name, e-mail and phone are of its party: by them a lead that somebody typed is known again. */
export function foundLead(opportunity: Opportunity, reader: Reader): FoundRecord {
  const { reference, description, comment, person, party, employee } = opportunity;
  return {
    kind: 'lead',
    ref: String(opportunity.id),
    ...(reference !== undefined && eventId.test(reference) && { key: reference }),
    version: writtenAt(opportunity),
    status: opportunity.state,
    createdAt: opportunity.createdAt,
    changedAt: writtenAt(opportunity),
    changedBy: opportunity.userId === reader.userId ? 'us' : 'other',
    links: { contact: party?.toString(), owner: employee?.toString() },
    fields: { description, comment, ...person },
  };
}

/** What a lead's record holds right after it was written. `owner`: id of the employee who gets the lead. */
export function expectedRecord(lead: ExpectedLead, owner: number | undefined): ExpectedRecord {
  if (lead.kind === 'contact') return { fields: { ...comparable(partyFields(lead.payload)) }, links: {} };
  return {
    fields: { ...opportunityFields(lead) },
    links: { contact: lead.refs.contact, ...(owner !== undefined && { owner: String(owner) }) },
  };
}

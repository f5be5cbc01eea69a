import { comparableEmail, comparablePhone } from './mapping.js';

type Row = Record<string, unknown>;

/** One e-mail address or telephone number of a party. */
export interface Mechanism {
  id: number;
  kind: 'email' | 'phone';
  value: string;
  sequence: number;
  timestamp?: string;
  /** Of the last write. */
  userId?: number;
  changedAt?: string;
}

/** A party as far as leads write it. */
export interface Party extends Written {
  id: number;
  code?: string;
  name?: string;
  /** It was merged into this one. */
  replacedBy?: number;
  /** The first of its kind is the one that counts, as it is for Tryton. */
  mechanisms: Mechanism[];
}

export interface Opportunity extends Written {
  id: number;
  reference?: string;
  state?: string;
  description?: string;
  comment?: string;
  party?: number;
  employee?: number;
  person: Partial<Record<'name' | 'email' | 'phone', string>>;
}

interface Written {
  /** Opaque: goes back with a write, which is refused when it is not the last any more. */
  timestamp?: string;
  createdAt?: string;
  changedAt?: string;
  /** Of the last write. */
  userId?: number;
}

const mechanismFields = ['type', 'value', 'value_compact', 'sequence', '_timestamp', ...dates()];

export const partyRows = ['name', 'code', 'replaced_by', '_timestamp', ...dates(), ...mechanismFields.map(below('contact_mechanisms'))];

export const opportunityRows = [
  ...['reference', 'state', 'description', 'comment', 'party', 'employee', '_timestamp', ...dates()],
  ...['name', 'email', 'phone'].map(below('party')),
];

function dates(): string[] {
  return ['create_date', 'write_date', 'create_uid', 'write_uid'];
}

function below(field: string): (name: string) => string {
  return (name) => `${field}.${name}`;
}

/** A row of `party.party`, with `partyRows`. */
export function partyOf(row: Row): Party {
  return {
    ...writtenOf(row),
    id: Number(row.id),
    code: text(row.code),
    name: text(row.name),
    replacedBy: number(row.replaced_by),
    mechanisms: rows(row['contact_mechanisms.']).flatMap(mechanismOf).sort(bySequence),
  };
}

const kinds: Readonly<Record<string, Mechanism['kind']>> = { email: 'email', phone: 'phone', mobile: 'phone' };

function mechanismOf(row: Row): Mechanism[] {
  const kind = kinds[String(row.type)];
  if (kind === undefined) return [];
  const { timestamp, userId, changedAt, createdAt } = writtenOf(row);
  const value = text(row.value_compact) ?? text(row.value) ?? '';
  const sequence = number(row.sequence) ?? Number.NEGATIVE_INFINITY;
  return [{ id: Number(row.id), kind, value, sequence, timestamp, userId, changedAt: changedAt ?? createdAt }];
}

const bySequence = (one: Mechanism, other: Mechanism): number =>
  one.sequence === other.sequence ? one.id - other.id : one.sequence - other.sequence;

/** The address or number that stands for all of its kind. */
export const firstOf = (party: Party, kind: Mechanism['kind']): Mechanism | undefined => party.mechanisms.find((one) => one.kind === kind);

/** A row of `sale.opportunity`, with `opportunityRows`. */
export function opportunityOf(row: Row): Opportunity {
  const party = rows([row['party.']])[0] ?? {};
  const [email, phone] = [text(party.email), text(party.phone)];
  return {
    ...writtenOf(row),
    id: Number(row.id),
    reference: text(row.reference),
    state: text(row.state),
    description: text(row.description),
    comment: text(row.comment),
    party: number(row.party),
    employee: number(row.employee),
    person: {
      name: text(party.name),
      email: email && comparableEmail(email),
      phone: phone && comparablePhone(phone),
    },
  };
}

function writtenOf(row: Row): Written {
  return {
    timestamp: text(row._timestamp),
    createdAt: instant(row.create_date),
    changedAt: instant(row.write_date),
    userId: number(row.write_uid) ?? number(row.create_uid),
  };
}

const text = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined);
const number = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined);

/** The objects of a list; anything else is none. */
export function rows(value: unknown): Row[] {
  return Array.isArray(value) ? value.filter((one): one is Row => typeof one === 'object' && one !== null) : [];
}

/** Tryton's date and time, which are UTC without saying so, as ISO 8601 with its microseconds. */
function instant(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { year, month, day, hour, minute, second, microsecond } = value as Record<string, number | undefined>;
  const two = (part = 0): string => String(part).padStart(2, '0');
  return `${year}-${two(month)}-${two(day)}T${two(hour)}:${two(minute)}:${two(second)}.${String(microsecond ?? 0).padStart(6, '0')}Z`;
}

/** The other way round. */
export function datetime(at: Date): Row {
  return {
    __class__: 'datetime',
    year: at.getUTCFullYear(),
    month: at.getUTCMonth() + 1,
    day: at.getUTCDate(),
    hour: at.getUTCHours(),
    minute: at.getUTCMinutes(),
    second: at.getUTCSeconds(),
    microsecond: at.getUTCMilliseconds() * 1_000,
  };
}

import { createHash } from 'node:crypto';

/** One fictional person whose data every whole-stack test plants, so that one scan at the end can look for all of them. */
export interface PlantedPerson {
  readonly name: string;
  readonly email: string;
  readonly phone: string;
  readonly message: string;
}

/** Eight people: few enough to search for every form of every value, enough to mix keys and contacts. */
export const plantedPeople: readonly PlantedPerson[] = Array.from({ length: 8 }, (_, index) => ({
  name: `Zenobia Quillfeather-${index}`,
  email: `Zenobia.Quillfeather+${index}@example.test`,
  phone: `+1202555018${index}`,
  message: `Planted wish ${index}: «a blue heron», please ring after six`,
}));

/** The planted person for the n-th lead of a test. */
export function person(n: number): PlantedPerson {
  return plantedPeople[n % plantedPeople.length] as PlantedPerson;
}

/** Shorter values (a name such as `plain`) stand in anything and would say nothing. */
export const shortestPlanted = 8;

const personalFields = ['name', 'email', 'phone', 'message'];
const values = new Set<string>(plantedPeople.flatMap(({ name, email, phone, message }) => [name, email, phone, message]));

/** Adds the personal fields among these to what is looked for, for tests that plant people of their own. */
export function plantFields(fields: unknown): void {
  if (typeof fields !== 'object' || fields === null) return;
  for (const [field, value] of Object.entries(fields)) {
    // By way of UTF-8, as everybody writes it: what is no text there is a replacement character.
    const text = typeof value === 'string' && personalFields.includes(field) ? Buffer.from(value).toString().trim() : '';
    if (text.length >= shortestPlanted) values.add(text);
  }
}

/** The same for a lead as it is handed in: its contact and its message. */
export function plantLead(lead: unknown): void {
  plantFields(lead);
  if (typeof lead === 'object' && lead !== null && 'contact' in lead) plantFields(lead.contact);
}

/** Every value that must not be found outside the vault, the topic `leads` and the destinations, as of now. */
export function plantedValues(): readonly string[] {
  return [...values];
}

/**
 * The shapes in which a value leaks: raw, lower-cased, digits only (for phone numbers), URL-encoded both ways, base64, JSON-escaped, and as an unkeyed SHA-256
 * (its bytes, in hex and in base64) of the raw and of the lower-cased value. Each once, as bytes.
 */
export function leakForms(value: string): Buffer[] {
  const lower = value.toLowerCase();
  const digits = value.replace(/\D/g, '');
  const escaped = JSON.stringify(value)
    .slice(1, -1)
    .replace(/[\u0080-\uffff]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
  const digests = [...new Set([value, lower])].map((text) => createHash('sha256').update(text).digest());
  const hashed = digests.flatMap((digest) => [digest.toString('hex'), digest.toString('base64').replace(/=+$/, '')]);
  const forms = [
    value,
    lower,
    encodeURIComponent(value),
    new URLSearchParams({ v: value }).toString().slice(2),
    ...base64Forms(value),
    ...base64Forms(lower),
    escaped,
    ...hashed,
  ];
  if (digits.length >= 10) forms.push(digits);
  return [...[...new Set(forms)].map((text) => Buffer.from(text)), ...digests];
}

/** How a value shows in base64 (both alphabets) of a longer text, for each of the three places it may begin at; edges shared with neighbours are left out. */
function base64Forms(value: string): string[] {
  const bytes = Buffer.from(value);
  return [0, 1, 2].flatMap((shift) => {
    const encoded = Buffer.concat([Buffer.alloc(shift), bytes]).toString('base64');
    const inner = encoded.slice(Math.ceil((shift * 8) / 6), Math.floor(((shift + bytes.length) * 8) / 6));
    return [inner, inner.replaceAll('+', '-').replaceAll('/', '_')];
  });
}

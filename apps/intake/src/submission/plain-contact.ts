import { type CountryCode, getCountries, getCountryCallingCode, Metadata } from 'libphonenumber-js';

/** Shorter than any limit of an address, of its local part or of a label of its domain. */
const maxPlainEmailChars = 64;
const plainEmail = /^[a-z\d_+-]+(?:\.[a-z\d_+-]+)*@(?:[a-z\d]+(?:-+[a-z\d]+)*\.)+[a-z]{2,}$/i;

/** True: an e-mail address, seen at a glance. False says nothing: the full rules decide. */
export function isPlainEmail(address: string): boolean {
  return address.length <= maxPlainEmailChars && plainEmail.test(address);
}

/** Of all countries of a calling code together. */
interface Plan {
  /** Digits behind the code that a number has in each of them. */
  lengths: readonly number[];
  /** What may stand before a number when it is dialled at home, and has to be taken off. */
  prefixes: RegExp[];
}

const longestCallingCode = 3;
const e164 = /^\+[1-9]\d{6,14}$/;
const plans = readPlans();

/**
 * True: an E.164 number of a length that each country of its calling code has, and nothing of it to take off: it is its own normal form, and which
 * country it belongs to need not be found out. False says nothing: the full rules decide.
 */
export function isPlainPhone(text: string): boolean {
  if (!e164.test(text)) return false;
  for (let end = 2; end <= 1 + longestCallingCode; end += 1) {
    const plan = plans.get(text.slice(1, end));
    if (plan) return isWhole(plan, text.slice(end));
  }
  return false;
}

function isWhole({ lengths, prefixes }: Plan, national: string): boolean {
  return lengths.includes(national.length) && !prefixes.some((prefix) => prefix.test(national));
}

function readPlans(): Map<string, Plan> {
  const found = new Map<string, Plan>();
  for (const country of getCountries()) {
    const code = getCountryCallingCode(country);
    const { lengths, prefix } = planOf(country);
    const shared = found.get(code);
    const prefixes = [...(shared?.prefixes ?? []), ...(prefix ? [new RegExp(`^(?:${prefix})`)] : [])];
    found.set(code, { lengths: lengths.filter((length) => !shared || shared.lengths.includes(length)), prefixes });
  }
  return found;
}

/** The library's types leave the prefix out. */
function planOf(country: CountryCode): { lengths: readonly number[]; prefix: string | undefined } {
  const metadata = new Metadata();
  metadata.selectNumberingPlan(country);
  const plan = metadata.numberingPlan as NonNullable<Metadata['numberingPlan']> & { nationalPrefixForParsing(): string | undefined };
  return { lengths: plan.possibleLengths(), prefix: plan.nationalPrefixForParsing() };
}

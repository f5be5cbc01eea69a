import type { LeadPayload, MaskedContact } from '#contracts';

const firstOf = (text: string): string => `${Array.from(text)[0] ?? ''}…`;

/** Enough to tell two leads apart, too little to reach the person: `A…`, `a…@example.test`, `…23`. Pure. */
export function maskContact({ name, email, phone }: LeadPayload['contact']): MaskedContact {
  return { name: masked(name, firstOf), email: masked(email, maskEmail), phone: masked(phone, maskPhone) };
}

function masked(text: string | undefined, mask: (text: string) => string): string | null {
  if (text === undefined) return null;
  return text === '' ? '' : mask(text);
}

function maskEmail(email: string): string {
  const at = email.lastIndexOf('@');
  return at <= 0 ? '…' : `${firstOf(email.slice(0, at))}${email.slice(at)}`;
}

/** The extension may be a person's own: it goes first. */
function maskPhone(phone: string): string {
  const digits = (phone.split(';', 1)[0] ?? '').replace(/\D/g, '');
  return digits.length < 4 ? '…' : `…${digits.slice(-2)}`;
}

import { ApiError } from '../../api/client.js';
import type { RunRequest } from '../../api/types.js';

export const windows = [
  ['1h', 'in the last hour'],
  ['24h', 'in the last 24 hours'],
  ['7d', 'in the last 7 days'],
  ['own', 'from … to'],
] as const;

const lengthMs: Readonly<Record<string, number>> = { '1h': 3_600_000, '24h': 86_400_000, '7d': 7 * 86_400_000 };

/** A moment as a date field of the browser gives it, in the zone of the machine. Throws ApiError naming the field. */
function momentIn(form: FormData, name: string): string | undefined {
  const text = String(form.get(name) ?? '');
  if (text === '') return undefined;
  const at = new Date(text);
  if (Number.isNaN(at.getTime())) throw incomplete(name, 'is no date with a time');
  return at.toISOString();
}

const incomplete = (field: string, problem: string) =>
  new ApiError(0, 'The window is not whole', { fields: [{ field, problem, fix: 'Give a date and a time' }] });

/** The run that the form asks for. Throws ApiError where its window has no start. */
export function requestOf(form: FormData, reason: string, now: Date): RunRequest {
  const ms = lengthMs[String(form.get('window'))];
  const from = ms === undefined ? momentIn(form, 'from') : new Date(now.getTime() - ms).toISOString();
  if (from === undefined) throw incomplete('from', 'is missing');
  const to = ms === undefined ? momentIn(form, 'to') : undefined;
  const named = (['form', 'campaign', 'outcome'] as const).map((name) => [name, String(form.get(name) ?? '').trim()] as const);
  return {
    destination: String(form.get('destination') ?? ''),
    from,
    ...(to !== undefined && { to }),
    ...Object.fromEntries(named.filter(([, value]) => value !== '')),
    reason,
  };
}

import type { RunRequest } from '../../api/types.js';
import { incomplete, momentIn } from '../../parts/moment-in.js';

export const windows = [
  ['1h', 'in the last hour'],
  ['24h', 'in the last 24 hours'],
  ['7d', 'in the last 7 days'],
  ['own', 'from … to'],
] as const;

const lengthMs: Readonly<Record<string, number>> = { '1h': 3_600_000, '24h': 86_400_000, '7d': 7 * 86_400_000 };

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

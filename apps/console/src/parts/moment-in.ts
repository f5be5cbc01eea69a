import { ApiError } from '../api/client.js';

/** A moment as a date field of the browser gives it, in the zone of the machine. Throws ApiError naming the field. */
export function momentIn(form: FormData, name: string): string | undefined {
  const text = String(form.get(name) ?? '');
  if (text === '') return undefined;
  const at = new Date(text);
  if (Number.isNaN(at.getTime())) throw incomplete(name, 'is no date with a time');
  return at.toISOString();
}

/** What is to be said of a window of which a part is missing. */
export const incomplete = (field: string, problem: string) =>
  new ApiError(0, 'The window is not whole', { fields: [{ field, problem, fix: 'Give a date and a time' }] });

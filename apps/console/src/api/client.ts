// The one place that talks to operator. Personal data goes in bodies only: paths and queries carry ids, names and cursors.
import { signOut, token } from './session.js';

export interface FieldProblem {
  field: string;
  problem: string;
  fix?: string;
}

/** A refusal of the API (RFC 9457), or that nothing answered: then `status` is 0. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly detail: string | undefined;
  readonly fields: readonly FieldProblem[];
  constructor(
    readonly status: number,
    message: string,
    { detail, fields = [] }: { detail?: string | undefined; fields?: readonly FieldProblem[] } = {},
  ) {
    super(message);
    this.detail = detail;
    this.fields = fields;
  }
}

type Query = Record<string, string | number | boolean | null | undefined>;

/** The query string of what is set. */
function queryString(query: Query): string {
  const set = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== '');
  const text = new URLSearchParams(set.map(([name, value]): [string, string] => [name, String(value)])).toString();
  return text === '' ? '' : `?${text}`;
}

interface Request {
  method?: 'GET' | 'POST';
  body?: unknown;
  signal?: AbortSignal;
}

/** Sends one request with the person's token; rejects with ApiError. A token that is no longer good ends the session. */
export async function send(path: string, { method = 'GET', body, signal }: Request = {}): Promise<Response> {
  const headers: Record<string, string> = { accept: 'application/json' };
  const held = token();
  if (held !== null) headers.authorization = `Bearer ${held}`;
  if (body !== undefined) headers['content-type'] = 'application/json';
  const response = await fetch(path, {
    method,
    headers,
    cache: 'no-store',
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(signal && { signal }),
  }).catch((error: unknown) => {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw new ApiError(0, 'Operator does not answer', {
      detail: 'Nothing was changed unless the history says so. The console tries again.',
    });
  });
  if (response.ok) return response;
  const problem = await problemOf(response);
  if (response.status === 401) signOut(problem.message);
  throw problem;
}

async function problemOf(response: Response): Promise<ApiError> {
  const body = (await response.json().catch(() => ({}))) as Record<string, unknown>;
  const title = typeof body.title === 'string' ? body.title : `Operator answered ${response.status}`;
  const detail = typeof body.detail === 'string' ? body.detail : undefined;
  return new ApiError(response.status, title, { detail, fields: Array.isArray(body.errors) ? (body.errors as FieldProblem[]) : [] });
}

export async function get<T>(path: string, query: Query = {}, signal?: AbortSignal): Promise<T> {
  const response = await send(`/v1/${path}${queryString(query)}`, signal ? { signal } : {});
  return (await response.json()) as T;
}

export async function post<T>(path: string, body: unknown = {}): Promise<T> {
  const response = await send(`/v1/${path}`, { method: 'POST', body });
  return (response.status === 204 ? undefined : await response.json()) as T;
}

/** Saves what a path answers as a file; the browser's own download would not carry the token. */
export async function download(path: string, name: string): Promise<void> {
  const response = await send(`/v1/${path}`);
  const link = document.createElement('a');
  link.href = URL.createObjectURL(await response.blob());
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

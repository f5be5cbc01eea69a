import { z } from 'zod';

/** The operator service answered that this is not done: not allowed, not there, not valid, or not fitting what is there now. */
export class RestRefused extends Error {
  override readonly name = 'RestRefused';
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

/** No answer, or none of the operator service. */
export class RestUnavailable extends Error {
  override readonly name = 'RestUnavailable';
}

export interface RestCall {
  method: 'GET' | 'POST';
  /** Below `/v1/`; its parts are encoded already. */
  path: string;
  query?: Readonly<Record<string, string | number | undefined>>;
  body?: object;
}

const problemBody = z.object({
  title: z.string(),
  detail: z.string().optional(),
  errors: z.array(z.object({ field: z.string(), problem: z.string(), fix: z.string() })).optional(),
});

/** A dry run or a check of the whole audit takes its time. */
const timeoutMs = 120_000;

/** The operator service's REST API, as one person. */
export class RestClient {
  constructor(private readonly door: { url: string; token: string }) {}

  /** The answer as it is: JSON where it is JSON, else text. Throws RestRefused, RestUnavailable. */
  async call<T>({ method, path, query = {}, body }: RestCall): Promise<T> {
    const url = new URL(`${this.door.url}/v1/${path}`);
    for (const [name, value] of Object.entries(query)) if (value !== undefined) url.searchParams.set(name, String(value));
    const sent = method === 'POST';
    const response = await fetch(url, {
      method,
      headers: { authorization: `Bearer ${this.door.token}`, ...(sent && { 'content-type': 'application/json' }) },
      ...(sent && { body: JSON.stringify(body ?? {}) }),
      signal: AbortSignal.timeout(timeoutMs),
      redirect: 'error',
    }).catch(() => undefined);
    const text = await response?.text().catch(() => undefined);
    if (response === undefined || text === undefined) throw new RestUnavailable(`operator does not answer at ${url.origin}`);
    if (response.ok) return (isJson(response) ? JSON.parse(text) : text) as T;
    if (response.status >= 500) throw new RestUnavailable(wordsOf(response, text));
    throw new RestRefused(response.status, wordsOf(response, text));
  }
}

const isJson = (response: Response): boolean => /\bjson\b/.test(response.headers.get('content-type') ?? '');

/** What the service says, with every wrong field. */
function wordsOf(response: Response, text: string): string {
  const { data } = isJson(response) ? problemBody.safeParse(parsed(text)) : { data: undefined };
  if (data === undefined) return `operator answered ${response.status}`;
  const fields = (data.errors ?? []).map(({ field, problem, fix }) => `\n  ${field} ${problem}. ${fix}`);
  return [data.title, data.detail].filter(Boolean).join(': ') + fields.join('');
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

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
    throw refusalOf(response, text);
  }

  /** What has changed, as the service tells it; until the service ends the stream. Throws RestRefused, RestUnavailable. */
  async *changes(): AsyncGenerator<{ what: string[] }> {
    const headers = { authorization: `Bearer ${this.door.token}`, accept: 'text/event-stream' };
    const response = await fetch(`${this.door.url}/v1/live`, { headers, redirect: 'error' }).catch(() => undefined);
    if (response === undefined) throw new RestUnavailable(`operator does not answer at ${this.door.url}`);
    if (!response.ok || response.body === null) throw refusalOf(response, await response.text());
    try {
      for await (const data of dataOf(response.body.pipeThrough(new TextDecoderStream()))) yield changed.parse(JSON.parse(data));
    } catch {
      throw new RestUnavailable(`operator went away at ${this.door.url}`);
    }
  }
}

const isJson = (response: Response): boolean => /\bjson\b/.test(response.headers.get('content-type') ?? '');

/** What follows `data: ` in a stream of server-sent events. */
async function* dataOf(text: AsyncIterable<string>): AsyncGenerator<string> {
  let unread = '';
  for await (const part of text) {
    const lines = (unread + part).split('\n');
    unread = lines.pop() ?? '';
    yield* lines.filter((line) => line.startsWith('data: ')).map((line) => line.slice('data: '.length));
  }
}

const changed = z.object({ what: z.array(z.string()) });

function refusalOf(response: Response, text: string): RestUnavailable | RestRefused {
  const words = wordsOf(response, text);
  return response.status >= 500 ? new RestUnavailable(words) : new RestRefused(response.status, words);
}

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

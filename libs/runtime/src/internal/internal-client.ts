import { Pool } from 'undici';

export interface InternalClientOptions {
  baseUrl: string;
  token: string;
  /** For one whole call. */
  timeoutMs: number;
  /** Calls at once; more wait. Default 8. */
  connections?: number;
}

export interface InternalClient {
  /** POSTs JSON and gives the JSON answer. Throws InternalUnavailable (try again later) or InternalRefused (a fault of ours). */
  post<T>(path: string, body: unknown): Promise<T>;
  close(): Promise<void>;
}

/** The owner could not be reached, did not answer in time, or answered 429 or 5xx. Trying again later is right. */
export class InternalUnavailable extends Error {
  override readonly name = 'InternalUnavailable';
  readonly safeMessage = true;
}

/** The owner refused the request (4xx), or answered something that is not JSON. Trying again without a change is pointless. */
export class InternalRefused extends Error {
  override readonly name = 'InternalRefused';
  readonly safeMessage = true;
  constructor(
    message: string,
    readonly status: number,
  ) {
    super(message);
  }
}

/** Shorter than the server keeps it, so that a connection is never used while the server closes it. */
const keepAliveMs = 30_000;

/** A client of one service's internal API, over its own small keep-alive pool. */
export function internalClient({ baseUrl, token, timeoutMs, connections = 8 }: InternalClientOptions): InternalClient {
  const { origin, pathname } = new URL(baseUrl);
  const prefix = pathname.replace(/\/+$/, '');
  const pool = new Pool(origin, {
    connections,
    keepAliveTimeout: keepAliveMs,
    keepAliveMaxTimeout: keepAliveMs,
    connect: { timeout: timeoutMs },
  });
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };

  const post = async <T>(path: string, body: unknown): Promise<T> => {
    const { status, text } = await call(pool, `${prefix}${path}`, { headers, body: JSON.stringify(body), timeoutMs });
    if (status === 429 || status >= 500) throw new InternalUnavailable(`${path} answered ${status}`);
    if (status !== 200) throw new InternalRefused(`${path} refused with ${status}`, status);
    try {
      return JSON.parse(text) as T;
    } catch {
      throw new InternalRefused(`${path} did not answer with JSON`, status);
    }
  };
  return { post, close: () => pool.close() };
}

interface Call {
  headers: Record<string, string>;
  body: string;
  timeoutMs: number;
}

async function call(pool: Pool, path: string, { headers, body, timeoutMs }: Call): Promise<{ status: number; text: string }> {
  const signal = AbortSignal.timeout(timeoutMs);
  try {
    const response = await pool.request({ path, method: 'POST', headers, body, signal });
    return { status: response.statusCode, text: await response.body.text() };
  } catch (error) {
    const code = signal.aborted ? 'timeout' : ((error as NodeJS.ErrnoException).code ?? 'no answer');
    throw new InternalUnavailable(`${path} gave no answer (${code})`);
  }
}

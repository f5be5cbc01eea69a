export interface InternalClientOptions {
  baseUrl: string;
  token: string;
  timeoutMs: number;
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

/** The owner refused the request (4xx). Trying again without a change is pointless. */
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

/** A client of one service's internal API, over its own small keep-alive pool. */
export function internalClient(options: InternalClientOptions): InternalClient {
  void options;
  throw new Error('not implemented');
}

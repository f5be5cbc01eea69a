import { internalClient, type Logger } from '#runtime';
import { openReplayGate, type ReplayGate } from './replay-gate.js';

export interface ReplaysOptions {
  /** The operator's internal API; absent: the environment names none. */
  operatorUrl: string | undefined;
  token: string;
  /** Folder with `permit-public.json`. */
  secretsDir: string;
  logger: Logger;
}

export interface Replays {
  /** Absent: every replayed record is refused. */
  gate?: ReplayGate;
  close(): Promise<void>;
}

/** Of one question about the state of an approved batch. */
const timeoutMs = 1_000;

/** Opens the way for approved items; without an operator there is none, which the log says. Throws ConfigError like {@link openReplayGate}. */
export function openReplays({ operatorUrl, token, secretsDir, logger }: ReplaysOptions): Replays {
  if (operatorUrl === undefined) {
    logger.warn({ error_code: 'no_replays' }, 'INTERNAL_URLS names no operator: approved items are refused, each time one comes');
    return { close: async () => {} };
  }
  const operator = internalClient({ baseUrl: operatorUrl, token, timeoutMs });
  return { gate: openReplayGate({ secretsDir, operator, logger }), close: () => operator.close() };
}

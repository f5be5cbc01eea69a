import { pino } from 'pino';
import type { LogFields } from './log-fields.js';
import { redact } from './redact.js';

export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent';

/** `message` is constant text: what varies goes into fields. */
export interface LogMethod {
  (message: string): void;
  (fields: LogFields, message: string): void;
}

/** JSON lines on standard output. Only the fields of the table in log-fields are written; an error is reduced to what cannot hold data. */
export interface Logger {
  debug: LogMethod;
  info: LogMethod;
  warn: LogMethod;
  error: LogMethod;
  fatal: LogMethod;
  /** The one wide line per unit of work, at level info. */
  unit(fields: LogFields): void;
  /** A logger that adds these fields to every line. */
  child(fields: LogFields): Logger;
  /** Writes out what is buffered; for use just before the process exits. */
  flush(): void;
}

/** Where lines go: standard output, or what a test collects. */
export interface LogDestination {
  write(line: string): void;
  flushSync?(): void;
}

/** A logger of one service. Level `silent` writes nothing. */
export function createLogger(service: string, level: LogLevel = 'info', destination: LogDestination = standardOutput()): Logger {
  const base = pino(
    { level, base: { service }, timestamp: pino.stdTimeFunctions.isoTime, formatters: { level: (label) => ({ level: label }) } },
    destination,
  );
  return wrap(base, () => destination.flushSync?.());
}

/** How long a line may wait for company. */
const gatherMs = 20;
const maxGatheredChars = 65_536;

/** Lines leave together a moment later, since a write for each costs more than making it. `flushSync` writes what is left at once. */
function standardOutput(): LogDestination {
  const output = pino.destination({ dest: 1, sync: false, minLength: 0 });
  let gathered = '';
  let timer: NodeJS.Timeout | undefined;
  const release = (): void => {
    clearTimeout(timer);
    timer = undefined;
    if (gathered !== '') output.write(gathered);
    gathered = '';
  };
  return {
    write: (line) => {
      gathered += line;
      if (gathered.length >= maxGatheredChars) release();
      else timer ??= setTimeout(release, gatherMs);
    },
    flushSync: () => {
      release();
      output.flushSync();
    },
  };
}

type PinoLogger = pino.Logger;
type Level = 'debug' | 'info' | 'warn' | 'error' | 'fatal';

function wrap(base: PinoLogger, flush: () => void): Logger {
  const method = (level: Level): LogMethod => {
    return (first: LogFields | string, message?: string) => {
      if (!base.isLevelEnabled(level)) return;
      if (typeof first === 'string') base[level](first);
      else base[level](redact(first), message);
    };
  };
  return {
    debug: method('debug'),
    info: method('info'),
    warn: method('warn'),
    error: method('error'),
    fatal: method('fatal'),
    unit: (fields) => {
      if (base.isLevelEnabled('info')) base.info(redact(fields), 'unit');
    },
    child: (fields) => wrap(base.child(redact(fields)), flush),
    flush,
  };
}

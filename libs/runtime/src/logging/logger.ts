import type { LogFields } from './log-fields.js';

export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent';

/** `message` is constant text: what varies goes into fields. */
export interface LogMethod {
  (message: string): void;
  (fields: LogFields, message: string): void;
}

/** JSON lines on standard output. Only the fields of LogFields are written; an error is reduced to what cannot hold data. */
export interface Logger {
  debug: LogMethod;
  info: LogMethod;
  warn: LogMethod;
  error: LogMethod;
  fatal: LogMethod;
  /** The one wide line per unit of work. */
  unit(fields: LogFields): void;
  /** A logger that adds these fields to every line. */
  child(fields: LogFields): Logger;
  /** Writes out what is buffered; for use just before the process exits. */
  flush(): void;
}

/** A logger of one service. Level `silent` writes nothing. */
export function createLogger(service: string, level: LogLevel = 'info'): Logger {
  void service;
  void level;
  throw new Error('not implemented');
}

/**
 * PostgreSQL is gone, restarting, too slow, or the pool is exhausted. What was asked may or may not have happened; asking again is right.
 * `code` is the SQLSTATE, the system's error code, or `acquire_timeout`, `query_timeout`, `connection_lost`.
 */
export class DatabaseUnavailable extends Error {
  override readonly name = 'DatabaseUnavailable';
  readonly safeMessage = true;
  constructor(readonly code: string) {
    super(`PostgreSQL is not available (${code})`);
  }
}

export interface StatementFailure {
  /** SQLSTATE. */
  code: string;
  /** Name of the prepared statement. */
  statement?: string;
  constraint?: string;
  table?: string;
  column?: string;
}

/**
 * PostgreSQL refused a statement. PostgreSQL's own text is kept only where it speaks of the statement (syntax, privileges, missing
 * objects); that of data errors quotes the data, and is dropped.
 */
export class StatementFailed extends Error {
  override readonly name = 'StatementFailed';
  readonly safeMessage = true;
  readonly code: string;
  readonly statement?: string;
  readonly constraint?: string;
  readonly table?: string;
  readonly column?: string;

  constructor(failure: StatementFailure, text?: string) {
    const where = [failure.statement, failure.constraint ?? failure.column ?? failure.table].filter((part) => part !== undefined);
    super(`PostgreSQL refused ${where.join(', ') || 'a statement'} (${failure.code})${text === undefined ? '' : `: ${text}`}`);
    this.code = failure.code;
    this.statement = failure.statement;
    this.constraint = failure.constraint;
    this.table = failure.table;
    this.column = failure.column;
  }

  /** The data of one row is at fault (class 22, 23), or is more than PostgreSQL can hold (54): no repetition helps, other rows may be fine. */
  get isDataError(): boolean {
    return dataClasses.has(this.code.slice(0, 2));
  }

  /** Deadlock or serialization failure: the same statement may work at once. */
  get isTransient(): boolean {
    return this.code === '40P01' || this.code === '40001';
  }
}

const dataClasses = new Set(['22', '23', '54']);

/** Shut down, starting, too many connections, out of resources, cancelled by statement_timeout, lock_timeout, read-only after failover. */
const unavailableStates = new Set(['57P01', '57P02', '57P03', '57P05', '57014', '55P03', '25006', '25P03']);
const unavailableClasses = new Set(['08', '53']);
const networkCodes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ENOENT',
]);
/** Classes whose text names objects, never data. */
const safeTextClasses = new Set(['0A', '25', '28', '2B', '34', '3D', '3F', '40', '42', '55', '57', '58']);

interface DriverError {
  code?: unknown;
  message?: unknown;
  constraint?: string;
  table?: string;
  column?: string;
}

/** Turns whatever the driver threw into DatabaseUnavailable or StatementFailed; errors of ours pass unchanged. */
export function toDatabaseError(error: unknown, statement?: string): Error {
  if (error instanceof DatabaseUnavailable || error instanceof StatementFailed) return error;
  const { code, message, constraint, table, column } = (error ?? {}) as DriverError;
  const text = typeof message === 'string' ? message : '';
  if (typeof code !== 'string') return withoutCode(error, text);
  if (networkCodes.has(code) || unavailableStates.has(code) || unavailableClasses.has(code.slice(0, 2)))
    return new DatabaseUnavailable(code);
  if (!/^[0-9A-Z]{5}$/.test(code)) return error instanceof Error ? error : new Error('Unknown database error');
  return new StatementFailed({ code, statement, constraint, table, column }, safeTextClasses.has(code.slice(0, 2)) ? text : undefined);
}

/** pg's own errors carry no code, only these texts. */
function withoutCode(error: unknown, text: string): Error {
  if (text.includes('timeout exceeded when trying to connect')) return new DatabaseUnavailable('acquire_timeout');
  if (text.includes('Query read timeout')) return new DatabaseUnavailable('query_timeout');
  if (/connection terminated|connection ended|not queryable|connection error|after calling end|client was closed/i.test(text)) {
    return new DatabaseUnavailable('connection_lost');
  }
  return error instanceof Error ? error : new Error('Unknown database error');
}

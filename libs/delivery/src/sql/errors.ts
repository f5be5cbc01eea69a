/** Work given up because the engine stops; its rows are found by their lease. */
export class Stopped extends Error {
  override readonly name = 'Stopped';
  readonly safeMessage = true;
  constructor() {
    super('the delivery engine stops');
  }
}

const sqlState = (error: unknown): string => {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' ? code : '';
};

/** Deadlock or serialization failure: the same statement may be run again at once. */
export function isConflict(error: unknown): boolean {
  return ['40P01', '40001'].includes(sqlState(error));
}

/** A value that the database refuses (class 22, 23) or cannot hold (54): some row of the batch is at fault, not the database. */
export function isDataError(error: unknown): boolean {
  return /^(22|23|54)\w{3}$/.test(sqlState(error));
}

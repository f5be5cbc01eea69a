/** PostgreSQL is gone, restarting, too slow, or the pool is exhausted. What was asked may or may not have happened; asking again is right. */
export class DatabaseUnavailable extends Error {
  override readonly name = 'DatabaseUnavailable';
  readonly safeMessage = true;
  constructor(
    message: string,
    readonly code: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

import { StatementFailed } from '#runtime';

/**
 * Runs a batch; where the database refuses its data (SQLSTATE class 22, 23 or 54, which says that one row is wrong but not which), halves it until
 * the single row is found, so that this row alone fails. A deadlock or serialisation failure is run again. Any other error is thrown on.
 */
export async function bisect<Item>(
  items: readonly Item[],
  run: (part: readonly Item[]) => Promise<void>,
  refuse: (item: Item, sqlState: string) => void,
): Promise<void> {
  if (items.length === 0) return;
  const sqlState = await attempt(items, run);
  if (sqlState === undefined) return;
  const [only] = items;
  if (items.length === 1 && only !== undefined) {
    refuse(only, sqlState);
    return;
  }
  const middle = Math.ceil(items.length / 2);
  await bisect(items.slice(0, middle), run, refuse);
  await bisect(items.slice(middle), run, refuse);
}

const maxCollisions = 5;

/** SQLSTATE of refused data, or undefined when it went through. */
async function attempt<Item>(items: readonly Item[], run: (part: readonly Item[]) => Promise<void>): Promise<string | undefined> {
  for (let tries = 1; ; tries++) {
    try {
      await run(items);
      return undefined;
    } catch (error) {
      if (!(error instanceof StatementFailed)) throw error;
      if (error.isDataError) return error.code;
      if (!error.isTransient || tries === maxCollisions) throw error;
    }
  }
}

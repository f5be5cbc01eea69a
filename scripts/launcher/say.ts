/** A line for the person who started the instance; through the parent's terminal when that one waits for us. */
export type Say = (line: string) => void;

/** Messages from a detached launcher to the `npm start` that waits for it. */
export type LauncherMessage = { line: string } | { failure: string } | { ready: true };

/** Prints to standard output (the launcher's log when detached) and to the waiting parent, if there is one. */
export function sayTo(): Say {
  return (line) => {
    console.log(line);
    void tellParent({ line });
  };
}

/** Sends to the parent while it listens, and waits until that is done; afterwards does nothing. */
export function tellParent(message: LauncherMessage): Promise<void> {
  if (process.send === undefined || !process.connected) return Promise.resolve();
  return new Promise((resolve) => process.send?.(message, undefined, undefined, () => resolve()));
}

/** Lines of a table with its columns aligned. */
export function table(rows: [string, string][]): string[] {
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, value]) => `  ${name.padEnd(width)}  ${value}`);
}

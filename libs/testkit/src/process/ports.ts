import { createServer } from 'node:net';

/** True when something listens on the port of this machine. */
export function portTaken(port: number, host = '127.0.0.1'): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(true));
    server.listen({ port, host, exclusive: true }, () => server.close(() => resolve(false)));
  });
}

/**
 * First port of a row of `count` free ports, between 20000 and 32000 (below the range from which systems hand out ports to outgoing
 * connections). Two callers at the same moment are kept apart by starting at random places.
 */
export async function freePortRange(count: number): Promise<number> {
  for (let attempt = 0; attempt < 200; attempt += 1) {
    const base = 20_000 + 20 * Math.floor(Math.random() * 600);
    const taken = await Promise.all(Array.from({ length: count }, (_, offset) => portTaken(base + offset)));
    if (!taken.includes(true)) return base;
  }
  throw new Error(`no row of ${count} free ports was found between 20000 and 32000`);
}

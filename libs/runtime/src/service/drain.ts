import type { Logger } from '../logging/logger.js';

/** A part of a process that is stopped on the way out. */
export interface Stoppable {
  name: string;
  stop(): Promise<void> | void;
}

/** Stops parts one after the other, last started first. A part that fails does not keep the others. False when time ran out or one failed. */
export async function drain(parts: readonly Stoppable[], { logger, drainMs }: { logger: Logger; drainMs: number }): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  let stopping = '';
  const timeout = new Promise<false>((resolve) => {
    timer = setTimeout(() => {
      logger.error({ part: stopping, duration_ms: drainMs }, 'A part did not stop in time');
      resolve(false);
    }, drainMs);
  });
  const stopAll = async (): Promise<boolean> => {
    let clean = true;
    for (const part of parts.toReversed()) {
      stopping = part.name;
      clean = (await stopOne(part, logger)) && clean;
    }
    return clean;
  };
  const clean = await Promise.race([stopAll(), timeout]);
  clearTimeout(timer);
  return clean;
}

async function stopOne(part: Stoppable, logger: Logger): Promise<boolean> {
  try {
    await part.stop();
    return true;
  } catch (error) {
    logger.error({ err: error, part: part.name }, 'A part failed to stop');
    return false;
  }
}

import type { Logger } from './logger.js';

/** What Nest expects of a logger. */
export interface FrameworkLogger {
  log(message: unknown, ...more: unknown[]): void;
  error(message: unknown, ...more: unknown[]): void;
  warn(message: unknown, ...more: unknown[]): void;
  debug(message: unknown, ...more: unknown[]): void;
  verbose(message: unknown, ...more: unknown[]): void;
  fatal(message: unknown, ...more: unknown[]): void;
}

/**
 * A logger for a framework whose messages we do not choose: they may quote what a caller sent, so only an error's reduced form and the
 * name of the component are kept.
 */
export function frameworkLogger(logger: Logger): FrameworkLogger {
  const at = (level: 'debug' | 'warn' | 'error' | 'fatal') => {
    return (message: unknown, ...more: unknown[]) => {
      const component = more.at(-1);
      const err = [message, ...more].find((part) => part instanceof Error);
      logger[level](
        { err, component: typeof component === 'string' && /^[A-Za-z]{1,60}$/.test(component) ? component : undefined },
        'Framework message',
      );
    };
  };
  return { log: at('debug'), verbose: at('debug'), debug: at('debug'), warn: at('warn'), error: at('error'), fatal: at('fatal') };
}

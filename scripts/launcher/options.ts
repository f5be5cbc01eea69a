import { isAbsolute, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { projectRoot } from '#testkit';

export interface StartOptions {
  /** Where state, data and logs of this instance are kept. */
  runDir: string;
  portBase: number;
  /** Site file. */
  config: string;
  /** Put three sample leads in once everything is ready. */
  samples: boolean;
  /** Give the terminal back once everything is ready. */
  detach: boolean;
}

const usage = `npm start -- [options]
  --run-dir DIR    where all state and logs are kept (default .run)
  --port-base N    first of the sixteen ports used (default 7300)
  --config FILE    site file (default config/demo.yaml)
  --no-samples     put no sample leads in
  --detach         give the terminal back once everything is ready; \`npm stop\` ends it`;

/** A wrong command line; the message says how to write it. */
export class UsageError extends Error {}

/** Options of `npm start`. Relative paths are taken from where npm was called. Throws UsageError. */
export function startOptions(args: string[], root: string): StartOptions {
  const values = parse(args, {
    'run-dir': { type: 'string' },
    'port-base': { type: 'string', default: '7300' },
    config: { type: 'string' },
    'no-samples': { type: 'boolean', default: false },
    detach: { type: 'boolean', default: false },
  });
  const portBase = Number(values['port-base']);
  if (!Number.isInteger(portBase) || portBase < 1024 || portBase > 65_500) {
    throw new UsageError(`--port-base must be a whole number from 1024 to 65500\n\n${usage}`);
  }
  return {
    runDir: runDirOf(values['run-dir'], root),
    portBase,
    config: typeof values.config === 'string' ? fromCaller(values.config) : join(root, 'config', 'demo.yaml'),
    samples: values['no-samples'] !== true,
    detach: values.detach === true,
  };
}

/** The run directory that `npm stop` and `npm run reset` are meant for. Throws UsageError. */
export function runDirOption(args: string[], root: string): string {
  return runDirOf(parse(args, { 'run-dir': { type: 'string' } })['run-dir'], root);
}

/** The same from this process's own arguments; a wrong command line ends the process with 2 and the usage instead of a stack. */
export function runDirOrEnd(): string {
  try {
    return runDirOption(process.argv.slice(2), projectRoot());
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    console.error(error.message);
    process.exit(2);
  }
}

const runDirOf = (value: unknown, root: string): string => (typeof value === 'string' ? fromCaller(value) : join(root, '.run'));

// npm runs scripts in the project's folder and keeps the caller's in INIT_CWD.
const fromCaller = (path: string): string => (isAbsolute(path) ? path : resolve(process.env.INIT_CWD ?? process.cwd(), path));

type Flags = NonNullable<Parameters<typeof parseArgs>[0]>['options'];

function parse(args: string[], options: Flags): Record<string, unknown> {
  try {
    return parseArgs({ args, options, strict: true }).values;
  } catch (error) {
    throw new UsageError(`${(error as Error).message}\n\n${usage}`);
  }
}

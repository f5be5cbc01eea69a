import { readFileSync } from 'node:fs';
import { isAbsolute, join, resolve } from 'node:path';
import type { Command } from 'commander';
import { Option } from 'commander';
import { z } from 'zod';
import { ConfigError } from '#runtime';
import { RestClient } from './rest-client.js';

const roles = ['viewer', 'operator', 'approver', 'admin'] as const;

/** How somebody says who asks, and where. */
export interface PersonOptions {
  url?: string;
  token?: string;
  as?: (typeof roles)[number];
  runDir?: string;
}

const endpoints = z.object({ operator: z.string(), operatorTokens: z.partialRecord(z.enum(roles), z.string()) });
/** Where `npm start` keeps its state unless it is told otherwise. */
const defaultRunDir = join(import.meta.dirname, '../../../../../.run');

/** Adds the options that say who asks. `runDir` false: the command has that option already. */
export function withPerson(command: Command, { runDir = true }: { runDir?: boolean } = {}): Command {
  command
    .option('--url <url>', 'base URL of the operator service (default: LEADCTL_URL, else that of the run directory)')
    .option('--token <token>', 'your token; better in LEADCTL_TOKEN, where no list of processes shows it')
    .addOption(new Option('--as <role>', 'as the demo person of this role of the run directory').choices(roles));
  return runDir ? command.option('--run-dir <dir>', 'directory of a running instance (default: .run)') : command;
}

/** Whether the options or the environment name a person; else the command goes to the internal API of the installation. */
export function namesPerson({ url, token, as }: PersonOptions, env: NodeJS.ProcessEnv): boolean {
  return [url, token, as, env.LEADCTL_TOKEN].some((one) => one !== undefined);
}

/** The REST API as the person that the options name; `viewer` of the run directory where they name nobody. Throws ConfigError. */
export function restClient(options: PersonOptions, env: NodeJS.ProcessEnv): RestClient {
  const { as = 'viewer' } = options;
  const token = options.token ?? (options.as === undefined ? env.LEADCTL_TOKEN : undefined);
  const url = options.url ?? (options.runDir === undefined ? env.LEADCTL_URL : undefined);
  if (url !== undefined && token !== undefined) return new RestClient({ url: plain(url), token });
  if (url !== undefined) throw wrong('LEADCTL_TOKEN', 'is missing', 'Set it, or give --token');
  const instance = readEndpoints(join(runDirOf(options, env), 'endpoints.json'));
  const given = token ?? instance.operatorTokens[as];
  if (given === undefined) throw wrong(`--as ${as}`, 'has no token in the run directory', 'Give --token or LEADCTL_TOKEN');
  return new RestClient({ url: plain(instance.operator), token: given });
}

function plain(url: string): string {
  if (URL.canParse(url) && /^https?:/.test(url)) return url.replace(/\/+$/, '');
  throw wrong('--url', 'is not a URL', 'Write it as https://host[:port]');
}

/** npm runs scripts in the project's folder and keeps the caller's in INIT_CWD. */
function runDirOf({ runDir }: PersonOptions, env: NodeJS.ProcessEnv): string {
  if (runDir === undefined) return defaultRunDir;
  return isAbsolute(runDir) ? runDir : resolve(env.INIT_CWD ?? process.cwd(), runDir);
}

function readEndpoints(file: string): z.infer<typeof endpoints> {
  const fix = 'Start an instance there with npm start, name its folder with --run-dir, or give --url and LEADCTL_TOKEN';
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw wrong(file, `cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown error'})`, fix);
  }
  try {
    return endpoints.parse(JSON.parse(text));
  } catch {
    throw wrong(file, 'does not have the right form', fix);
  }
}

const wrong = (path: string, problem: string, fix: string): ConfigError => new ConfigError([{ path, problem, fix }]);

import { delimiter } from 'node:path';

/** What npm, a test run or an instance's owner put there, but for where npm keeps and gets packages. */
const ours = /^(npm_(?!config_(cache|registry|userconfig)$)|INIT_CWD$|NODE$|NODE_OPTIONS$|NODE_COMPILE_CACHE$|JEST_|LD_|CI$)/;
const connections = new Set(['KAFKA_BROKERS', 'SCHEMA_REGISTRY_URL', 'DATABASE_URL']);

/** The environment of somebody who has just cloned: the system's own PATH without any `node_modules/.bin`, and no servers to use. */
export function newcomersEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const kept = Object.entries(env).filter(([name]) => !ours.test(name) && !connections.has(name));
  const folders = (env.PATH ?? '').split(delimiter).filter((folder) => !folder.includes('node_modules'));
  return { ...Object.fromEntries(kept), PATH: folders.join(delimiter) };
}

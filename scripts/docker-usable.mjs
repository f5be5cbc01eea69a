// Whether Docker can run the infrastructure. Plain JavaScript for Node 20, usable before anything is installed. As a program: exit 0 when it can.
import { spawnSync } from 'node:child_process';
import { pathToFileURL } from 'node:url';

const works = (...args) => spawnSync('docker', args, { stdio: 'ignore', timeout: 20_000 }).status === 0;

/** True where `docker compose` and an engine behind it answer, unless LD_INFRA=embedded. */
export function dockerUsable() {
  if (process.env.LD_INFRA === 'embedded') return false;
  return works('compose', 'version') && works('version', '--format', '{{.Server.Version}}');
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) process.exitCode = dockerUsable() ? 0 : 1;

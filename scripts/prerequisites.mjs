// What a machine must have for `npm start` and `npm test`. Plain JavaScript for Node 20, usable before anything is installed.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { dockerUsable } from './docker-usable.mjs';
import { findJava, oldestJava } from './find-java.mjs';

const external = { kafka: 'KAFKA_BROKERS', registry: 'SCHEMA_REGISTRY_URL', postgres: 'DATABASE_URL' };

/** True when the command ends well; its output is not shown. */
const works = (command, args) => spawnSync(command, args, { stdio: 'ignore', timeout: 20_000 }).status === 0;

/** One line per missing thing, with what to install. `packagesOnly`: nothing is started. `embedded`: all parts are started here in any case. */
export function missingPrerequisites({ root, packagesOnly, embedded }) {
  const missing = [];
  if (Number(process.versions.node.split('.')[0]) < 20)
    missing.push(`Node.js 20 or newer (this is ${process.version}): https://nodejs.org`);
  if (packagesOnly) return missing;
  const here = new Set(Object.keys(external).filter((part) => embedded || !process.env[external[part]]));
  if (here.size === 0 || (!embedded && dockerUsable())) return missing;
  if (here.has('kafka') || here.has('registry')) missing.push(...missingForJvm(root));
  if (here.has('postgres')) missing.push(...missingForPostgres());
  if (missing.length > 0 && !embedded) {
    missing.push(
      'or, instead of these: a running Docker engine with the compose plugin, or KAFKA_BROKERS, SCHEMA_REGISTRY_URL and DATABASE_URL set',
    );
  }
  return missing;
}

function missingForJvm(root) {
  const missing = [];
  if (findJava() === undefined) {
    missing.push(
      `Java ${oldestJava} or newer, for Kafka and the registry (Debian, Ubuntu: apt-get install openjdk-17-jre-headless; macOS: brew install openjdk)`,
    );
  }
  if (!jarsDownloaded(root) && !works('mvn', ['--version'])) {
    missing.push('Apache Maven 3.8 or newer, which downloads them (Debian, Ubuntu: apt-get install maven; macOS: brew install maven)');
  }
  return missing;
}

function missingForPostgres() {
  const platforms = ['linux-x64', 'linux-arm64', 'linux-arm', 'linux-ia32', 'linux-ppc64', 'darwin-x64', 'darwin-arm64'];
  const platform = `${process.platform}-${process.arch}`;
  if (!platforms.includes(platform)) return [`PostgreSQL 15 or newer, named by DATABASE_URL: none is bundled for ${platform}`];
  const nobody = process.getuid?.() === 0 && !works('id', ['-u', 'postgres']) && !works('id', ['-u', 'nobody']);
  return nobody ? ['an account `postgres` or `nobody`: PostgreSQL refuses to run as root (useradd --system postgres)'] : [];
}

/** True when an earlier start has downloaded Kafka and the registry. */
function jarsDownloaded(root) {
  const cache = join(root, '.cache');
  return existsSync(cache) && readdirSync(cache).some((name) => name.startsWith('embedded-'));
}

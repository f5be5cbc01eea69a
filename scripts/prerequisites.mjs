// What a machine must have for `npm start` and `npm test`. Plain JavaScript for Node 20, usable before anything is installed.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { dockerUsable } from './docker-usable.mjs';
import { findChromium } from './find-chromium.mjs';
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

/** True when an earlier start has downloaded Kafka and the registry in the versions of the pom; the folder is named as in testkit's downloads.ts. */
function jarsDownloaded(root) {
  const pom = join(root, 'deploy', 'embedded', 'pom.xml');
  if (!existsSync(pom)) return false;
  const hash = createHash('sha256').update(readFileSync(pom)).digest('hex').slice(0, 12);
  return existsSync(join(root, '.cache', `embedded-${hash}`));
}

/** What only some tests need, a line each with what to install: without it these fail, and no others. */
export function missingForTests() {
  const missing = [];
  if (!mavenCompiles()) {
    missing.push(
      `Maven on a JDK ${oldestJava} or newer, a JRE does not do: the example client in Java (Debian, Ubuntu: apt-get install maven openjdk-17-jdk-headless; macOS: brew install maven)`,
    );
  }
  if (!works('python3', ['-c', 'import ensurepip, venv'])) {
    missing.push(
      'Python 3 with venv: the example client in Python, and the attacks on the API of operators (Debian, Ubuntu: apt-get install python3-venv)',
    );
  }
  if (findChromium() === undefined) {
    missing.push('Chromium: the tests of the console (Debian, Ubuntu: apt-get install chromium; elsewhere, its path in CHROMIUM)');
  }
  return missing;
}

/** Maven says which Java it runs on, and compiles with that one. */
function mavenCompiles() {
  const { status, stdout } = spawnSync('mvn', ['--version'], { encoding: 'utf8', timeout: 20_000 });
  if (status !== 0) return false;
  const [, major, home] = /^Java version: (\d+).*(?:runtime|Java home): (.+)$/m.exec(stdout) ?? [];
  return home === undefined || (Number(major) >= oldestJava && existsSync(join(home.trim(), 'bin', 'javac')));
}

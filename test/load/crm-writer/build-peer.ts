import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { cacheDir, projectRoot } from '#testkit';
import type { BuiltPeer } from './spring-peer.js';

/** Virtual threads are final from this one on; an older one runs the peer with a pool of threads. */
const wantedJava = 21;
const source = join(projectRoot(), 'test/load/spring-peer');

/** The peer that is ready to start, or what is missing for it, in words for the page. */
export type PeerBuild = { peer: BuiltPeer } | { missing: string };

/** Builds test/load/spring-peer with Maven, once per content. Takes up to some minutes the first time; never throws. */
export function buildPeer(): PeerBuild {
  const java = foundJava(wantedJava) || foundJava();
  if (java === '') return { missing: 'no Java 17 or newer was found' };
  if (spawnSync('mvn', ['--version']).status !== 0) return { missing: 'Maven (`mvn`) was not found' };
  const home = join(cacheDir(), `spring-peer-${contentHash()}`);
  const peer = { java, classPath: [join(home, 'target/classes'), join(home, 'target/lib/*')].join(':') };
  if (existsSync(join(home, 'built'))) return { peer };
  rmSync(home, { recursive: true, force: true });
  mkdirSync(home, { recursive: true });
  for (const file of sourceFiles()) cpSync(join(source, file), join(home, file));
  console.error('building the Spring Kafka batch service');
  const args = ['--quiet', '--batch-mode', 'compile', 'dependency:copy-dependencies'];
  const env = existsSync(join(dirname(java), 'javac')) ? { ...process.env, JAVA_HOME: join(dirname(java), '..') } : process.env;
  const { status } = spawnSync('mvn', args, { cwd: home, env, stdio: ['ignore', process.stderr, process.stderr], timeout: 600_000 });
  if (status !== 0) return { missing: 'Maven could not build it: a JDK and its packages are needed' };
  writeFileSync(join(home, 'built'), '');
  return { peer };
}

function foundJava(...oldest: number[]): string {
  return execFileSync(process.execPath, [join(projectRoot(), 'scripts/find-java.mjs'), ...oldest.map(String)], { encoding: 'utf8' });
}

const sourceFiles = (): string[] => globSync(['pom.xml', 'src/main/**/*.{java,yaml,sql}'], { cwd: source }).sort();

function contentHash(): string {
  const hash = createHash('sha256');
  for (const file of sourceFiles()) hash.update(`${file}\n`).update(readFileSync(join(source, file)));
  return hash.digest('hex').slice(0, 12);
}

import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Oldest Java that Kafka 4 and the registry both run on. */
export const oldestJava = 17;

/** Small heaps and the cheap compiler: start in seconds, few threads, little memory; plenty for one machine's demo and tests. */
export const jvmFlags = (heapMb: number): string[] => [
  '-Xms48m',
  `-Xmx${heapMb}m`,
  '-XX:+UseSerialGC',
  '-XX:TieredStopAtLevel=1',
  '-XX:ReservedCodeCacheSize=64m',
  '-Xss512k',
  '-Xshare:auto',
  '-Djava.awt.headless=true',
];

/** Path of a `java` of at least `oldestJava`: JAVA_HOME first, then the PATH, then the usual folders. Undefined when there is none. */
export function findJava(): string | undefined {
  const homes = [process.env.JAVA_HOME, ...installedHomes()].filter((home) => home !== undefined);
  const byHome = homes.map((home) => join(home, 'bin', 'java')).filter((file) => existsSync(file));
  const [first, ...rest] = process.env.JAVA_HOME ? byHome : ['java', ...byHome];
  return [first, 'java', ...rest].find((java) => java !== undefined && javaMajor(java) >= oldestJava);
}

function installedHomes(): string[] {
  const folders = ['/usr/lib/jvm', '/Library/Java/JavaVirtualMachines', '/opt/homebrew/opt'].filter((folder) => existsSync(folder));
  return folders.flatMap((folder) =>
    readdirSync(folder).flatMap((name) => [join(folder, name), join(folder, name, 'Contents', 'Home'), join(folder, name, 'libexec')]),
  );
}

/** Major version of a java command, 0 when it cannot be told. */
function javaMajor(java: string): number {
  const release = join(java, '..', '..', 'release');
  if (java !== 'java' && existsSync(release)) return majorOf(readFileSync(release, 'utf8'));
  return majorOf(spawnSync(java, ['-version'], { encoding: 'utf8' }).stderr ?? '');
}

const majorOf = (text: string): number => Number(/"(?:1\.)?(\d+)/.exec(text)?.[1] ?? 0);

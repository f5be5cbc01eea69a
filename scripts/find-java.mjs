// Finds a Java that Kafka 4 and the registry run on, and prints the path of its `java`; prints nothing when there is none. With a major version as
// argument: one of at least that.
// Plain JavaScript for any Node from 20 on: the check of prerequisites needs it before anything is installed.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { pathToFileURL } from 'node:url';

export const oldestJava = 17;

/** Path of a `java` of at least `oldest`: JAVA_HOME first, then the PATH, then the usual folders. Undefined when there is none. */
export function findJava(oldest = oldestJava) {
  const home = process.env.JAVA_HOME ? [join(process.env.JAVA_HOME, 'bin')] : [];
  const folders = [...home, ...(process.env.PATH ?? '').split(delimiter), ...installed()];
  return folders
    .map((folder) => join(folder, 'java'))
    .filter((java) => existsSync(java))
    .find((java) => major(java) >= oldest);
}

function installed() {
  const folders = ['/usr/lib/jvm', '/Library/Java/JavaVirtualMachines', '/opt/homebrew/opt'].filter((folder) => existsSync(folder));
  return folders
    .flatMap((folder) => readdirSync(folder).flatMap((name) => ['', 'Contents/Home', 'libexec'].map((inner) => join(folder, name, inner))))
    .map((home) => join(home, 'bin'));
}

/** Major version of a java command, 0 when it cannot be told. */
function major(java) {
  const release = join(java, '..', '..', 'release');
  const text = existsSync(release) ? readFileSync(release, 'utf8') : spawnSync(java, ['-version'], { encoding: 'utf8' }).stderr;
  return Number(
    /version(?:=| )"(?:1\.)?(\d+)|JAVA_VERSION="(?:1\.)?(\d+)/i
      .exec(text ?? '')
      ?.slice(1)
      .find(Boolean) ?? 0,
  );
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href)
  process.stdout.write(findJava(Number(process.argv[2] ?? oldestJava)) ?? '');

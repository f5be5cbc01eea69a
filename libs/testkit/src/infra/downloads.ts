import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { cacheDir, projectRoot } from '../project-root.js';

export interface EmbeddedJars {
  /** Class path of Kafka, with its tools. */
  kafkaClassPath: string;
  registryJar: string;
}

type Progress = (line: string) => void;

const pom = (): string => join(projectRoot(), 'deploy', 'embedded', 'pom.xml');

// The folder carries a hash of the pom: another version in it is another folder, and a half-finished download is never taken for a whole one.
const jarsDir = (): string => cacheDir(`embedded-${createHash('sha256').update(readFileSync(pom())).digest('hex').slice(0, 12)}`);

/** Jars of Kafka and the registry, fetched once per clone by Maven. Throws with Maven's last lines when that fails. */
export async function embeddedJars(progress: Progress, signal?: AbortSignal): Promise<EmbeddedJars> {
  const dir = jarsDir();
  if (!existsSync(dir)) await download(dir, progress, signal);
  const registryJar = readdirSync(join(dir, 'registry')).find((file) => file.endsWith('-runner.jar'));
  if (registryJar === undefined) throw new Error(`${dir}/registry holds no *-runner.jar: remove ${dir} and start again`);
  return { kafkaClassPath: join(dir, 'kafka', '*'), registryJar: join(dir, 'registry', registryJar) };
}

async function download(dir: string, progress: Progress, signal?: AbortSignal): Promise<void> {
  progress('Downloading Kafka and the schema registry through Maven (165 MB, once)');
  const partial = `${dir}.${process.pid}`;
  mkdirSync(partial, { recursive: true });
  try {
    await runMaven(['-f', pom(), 'generate-resources', `-Dembedded.dir=${partial}`], progress, signal);
    // Another process may have finished first; its folder is as good as ours.
    if (!existsSync(dir)) renameSync(partial, dir);
  } finally {
    rmSync(partial, { recursive: true, force: true });
  }
}

function runMaven(args: string[], progress: Progress, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const maven = spawn('mvn', ['--batch-mode', ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      ...(signal === undefined ? {} : { signal }),
    });
    const last: string[] = [];
    let files = 0;
    const onText = (text: Buffer): void => {
      for (const line of text.toString().split('\n')) {
        if (line.includes('Downloaded from')) {
          files += 1;
          if (files % 50 === 0) progress(`  ${files} files so far`);
        }
        if (line.includes('ERROR')) last.push(line);
      }
    };
    maven.stdout.on('data', onText);
    maven.stderr.on('data', onText);
    maven.once('error', (error) => reject(new Error(`Maven could not be run (${error.message}): install Apache Maven 3.8 or newer`)));
    maven.once('close', (code) =>
      code === 0 ? resolve() : reject(new Error(`Maven ended with code ${code}:\n${last.slice(0, 5).join('\n')}`)),
    );
  });
}

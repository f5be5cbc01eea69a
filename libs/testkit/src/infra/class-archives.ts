import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { freePortRange } from '../process/ports.js';
import type { Program } from '../process/program.js';
import type { EmbeddedJars } from './downloads.js';
import { prepareKafka } from './kafka.js';
import { prepareRegistry } from './registry.js';

/** JVM options per program that make it start from an archive of parsed classes; empty where none could be made. */
export interface ClassArchives {
  kafka: string[];
  registry: string[];
}

export interface ArchiveOptions {
  java: string;
  jars: EmbeddedJars;
  progress(line: string): void;
  /** Starts a program, waits until it is ready, and asks it to end: the archive is written at an orderly end. */
  runOnce(program: Program): Promise<void>;
  /** An attempt that this ends is made again at the next start; one that fails is not. */
  signal?: AbortSignal;
}

/**
 * Makes, once per download and JVM, archives of the classes that Kafka and the registry load: with them both start in less than half of the
 * CPU time. Each is started and stopped once for it (some ten seconds). Where that fails they start without: it is only slower.
 */
export async function classArchives({ progress, ...options }: ArchiveOptions): Promise<ClassArchives> {
  const { java, jars } = options;
  const file = realpathSync(java);
  const key = createHash('sha256')
    .update(`${file} ${statSync(file).mtimeMs}`)
    .digest('hex')
    .slice(0, 8);
  const dir = join(dirname(dirname(jars.registryJar)), `classes-${key}`);
  if (!existsSync(dir)) {
    progress('Preparing Kafka and the schema registry for quick starts (once)');
    await train(options, dir);
  }
  const use = (name: string): string[] => (existsSync(join(dir, name)) ? [`-XX:SharedArchiveFile=${join(dir, name)}`] : []);
  return { kafka: use('kafka.jsa'), registry: use('registry.jsa') };
}

async function train({ java, jars, runOnce, signal }: Omit<ArchiveOptions, 'progress'>, dir: string): Promise<void> {
  const { kafkaClassPath, registryJar } = jars;
  const partial = `${dir}.${process.pid}`;
  const scratch = mkdtempSync(join(tmpdir(), 'class-archives-'));
  mkdirSync(partial, { recursive: true });
  const port = await freePortRange(3);
  const once = (program: Program): Promise<void> => runOnce({ ...program, name: `${program.name} (once)`, stopGraceMs: 60_000 });
  const archiveTo = (name: string): string[] => [`-XX:ArchiveClassesAtExit=${join(partial, name)}`];
  const logFile = join(scratch, 'log');
  try {
    await Promise.allSettled([
      prepareKafka({
        dir: join(scratch, 'kafka'),
        port,
        controllerPort: port + 1,
        java,
        classPath: kafkaClassPath,
        jvmOptions: archiveTo('kafka.jsa'),
        logFile,
        ...(signal === undefined ? {} : { signal }),
      }).then(once),
      once(prepareRegistry({ dir: scratch, port: port + 2, java, jar: registryJar, jvmOptions: archiveTo('registry.jsa'), logFile })),
    ]);
    signal?.throwIfAborted();
    if (!existsSync(dir)) renameSync(partial, dir);
  } finally {
    for (const folder of [partial, scratch]) rmSync(folder, { recursive: true, force: true });
  }
}

import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { freePortRange } from '../process/ports.js';
import { type Program, startProgram, stopProcess } from '../process/program.js';
import { eventually } from '../process/wait.js';
import type { EmbeddedJars } from './downloads.js';
import { prepareKafka } from './kafka.js';
import { prepareRegistry } from './registry.js';

/** JVM options per program that make it start from an archive of parsed classes; empty where none could be made. */
export interface ClassArchives {
  kafka: string[];
  registry: string[];
}

/**
 * Makes, once per download and JVM, archives of the classes that Kafka and the registry load: with them both start in less than half of the
 * CPU time. Each is started and stopped once for it (some ten seconds). Where that fails they start without: it is only slower.
 */
export async function classArchives(java: string, jars: EmbeddedJars, progress: (line: string) => void): Promise<ClassArchives> {
  const file = realpathSync(java);
  const key = createHash('sha256')
    .update(`${file} ${statSync(file).mtimeMs}`)
    .digest('hex')
    .slice(0, 8);
  const dir = join(dirname(dirname(jars.registryJar)), `classes-${key}`);
  if (!existsSync(dir)) {
    progress('Preparing Kafka and the schema registry for quick starts (once)');
    await train(java, jars, dir);
  }
  const use = (name: string): string[] => (existsSync(join(dir, name)) ? [`-XX:SharedArchiveFile=${join(dir, name)}`] : []);
  return { kafka: use('kafka.jsa'), registry: use('registry.jsa') };
}

async function train(java: string, { kafkaClassPath, registryJar }: EmbeddedJars, dir: string): Promise<void> {
  const partial = `${dir}.${process.pid}`;
  const scratch = mkdtempSync(join(tmpdir(), 'class-archives-'));
  mkdirSync(partial, { recursive: true });
  const port = await freePortRange(3);
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
      }).then(runOnce),
      runOnce(prepareRegistry({ dir: scratch, port: port + 2, java, jar: registryJar, jvmOptions: archiveTo('registry.jsa'), logFile })),
    ]);
    if (!existsSync(dir)) renameSync(partial, dir);
  } finally {
    for (const folder of [partial, scratch]) rmSync(folder, { recursive: true, force: true });
  }
}

/** Starts a program and asks it to end once it is ready: the archive is written at an orderly end. */
async function runOnce(program: Program): Promise<void> {
  const { identity } = await startProgram(program);
  try {
    await eventually(`${program.name} to be ready`, () => program.ready(), { timeoutMs: 60_000, everyMs: 250 });
  } finally {
    await stopProcess(identity, program.stopSignal, 60_000);
  }
}

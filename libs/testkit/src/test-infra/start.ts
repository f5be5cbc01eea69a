import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { type Connections, startEmbedded } from '../infra/embedded.js';
import { readJsonFile, writeJsonFile } from '../json-file.js';
import { isRunning, type ProcessIdentity } from '../process/identity.js';
import { freePortRange } from '../process/ports.js';
import { type Program, startProgram, stopProcess } from '../process/program.js';
import { eventually } from '../process/wait.js';
import { projectRoot } from '../project-root.js';

/** Connection data of the Kafka, registry and PostgreSQL that integration tests share, and who has to stop them. */
export interface TestInfra extends Connections {
  programs: { name: string; identity: ProcessIdentity; stopSignal: NodeJS.Signals; stopGraceMs: number }[];
  /** The test run that started it and stops it at its end; absent when it stays until it is stopped by hand. */
  owner?: ProcessIdentity;
}

/** Folder of the shared test infrastructure; LD_TEST_INFRA names another one; empty counts as unset. Each further worker of a test run has its own beside it. */
function testInfraDir(): string {
  const first = process.env.LD_TEST_INFRA?.trim() || join(projectRoot(), '.cache', 'test-infra');
  const worker = Number(process.env.JEST_WORKER_ID ?? 1);
  return worker > 1 ? `${first}-${worker}` : first;
}

export const testInfraFile = (): string => join(testInfraDir(), 'infra.json');

const parts = ['kafka', 'postgres', 'postgres.moved-to', 'registry', 'logs', 'secrets'];

/** The recorded infrastructure when all of it still runs, else undefined. */
export function runningTestInfra(): TestInfra | undefined {
  const infra = readJsonFile<TestInfra>(testInfraFile());
  return infra?.programs.every(({ identity }) => isRunning(identity)) ? infra : undefined;
}

/**
 * Starts the shared infrastructure on empty data, or gives the one that runs. With `owner` (a test run) a later stop by that owner ends it;
 * one whose owner has gone is taken over. Throws when a part does not become ready.
 */
export async function startTestInfra({ owner, progress }: { owner?: ProcessIdentity; progress(line: string): void }): Promise<TestInfra> {
  const running = runningTestInfra();
  if (running !== undefined) return adopt(running, owner);
  await stopTestInfra();
  const dir = testInfraDir();
  // Only what an earlier start made: the folder may be one that somebody named.
  for (const part of parts) rmSync(join(dir, part), { recursive: true, force: true });
  const base = await freePortRange(4);
  const programs: TestInfra['programs'] = [];
  // Recorded from the first moment, so that a run that dies now leaves nothing that cannot be found.
  const record = (): void => writeJsonFile(testInfraFile(), { programs, kafkaBrokers: '', schemaRegistry: '', databaseUrl: '' });
  const run = async (program: Program): Promise<void> => {
    const { child, identity } = await startProgram(program);
    // It outlives this process.
    child.unref();
    const { name, stopSignal, stopGraceMs } = program;
    programs.push({ name, identity, stopSignal, stopGraceMs });
    record();
    await eventually(`${name} to be ready (log: ${program.logFile})`, () => isRunning(identity) && program.ready(), { timeoutMs: 120_000 });
    progress(`${name} is ready`);
  };
  const runOnce = async (program: Program): Promise<void> => {
    await run(program);
    const [once] = programs.splice(
      programs.findIndex(({ name }) => name === program.name),
      1,
    );
    if (once !== undefined) await stopProcess(once.identity, once.stopSignal, once.stopGraceMs);
    record();
  };
  const connections = await startEmbedded(new Set(['postgres', 'kafka', 'registry']), {
    dir,
    logDir: join(dir, 'logs'),
    ports: { kafka: base, kafkaController: base + 1, registry: base + 2, postgres: base + 3 },
    sharedBuffersMb: 128,
    progress,
    run,
    runOnce,
  });
  const infra: TestInfra = { ...(connections as Connections), programs, ...(owner === undefined ? {} : { owner }) };
  writeJsonFile(testInfraFile(), infra);
  return infra;
}

function adopt(infra: TestInfra, owner: ProcessIdentity | undefined): TestInfra {
  if (infra.owner === undefined || isRunning(infra.owner)) return infra;
  const adopted = { ...infra, owner };
  writeJsonFile(testInfraFile(), adopted);
  return adopted;
}

/** Stops every recorded part of the shared infrastructure that runs. Nothing else is touched. */
export async function stopTestInfra(): Promise<void> {
  const infra = readJsonFile<TestInfra>(testInfraFile());
  // The registry goes before its database.
  for (const { identity, stopSignal, stopGraceMs } of [...(infra?.programs ?? [])].reverse()) {
    await stopProcess(identity, stopSignal, stopGraceMs);
  }
  rmSync(testInfraFile(), { force: true });
}

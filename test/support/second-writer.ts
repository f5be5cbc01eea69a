import { createHash } from 'node:crypto';
import { projectRoot, type RunState, readJsonFile, runPaths, type Stack, startProgram, stopProcess } from '#testkit';
import { portsFrom } from '../../scripts/launcher/ports.js';
import { serviceProgram } from '../../scripts/launcher/services.js';
import { eventually } from './eventually.js';

export interface SecondWriter {
  /** Ends it in order, or with the signal given. */
  stop(signal?: NodeJS.Signals): Promise<void>;
}

/**
 * Another process of crm-writer, the `nth` (2 unless given), beside the stack's own, with the same groups and tables and an internal port of its
 * own. Returns when it is ready.
 */
export async function startSecondWriter(
  stack: Stack,
  { config, env, port, nth = 2 }: { config: string; env: Record<string, string>; port: number; nth?: number },
): Promise<SecondWriter> {
  const paths = runPaths(stack.runDir);
  const { portBase = 0 } = readJsonFile<RunState>(paths.state) ?? {};
  const { kafkaBrokers, schemaRegistry, databaseUrl, sourceKey } = stack.endpoints();
  const ports = portsFrom(portBase);
  const program = serviceProgram('crm-writer', {
    root: projectRoot(),
    logDir: paths.logs,
    surroundings: {
      ports: { ...ports, internal: { ...ports.internal, 'crm-writer': port } },
      connections: { kafkaBrokers, schemaRegistry, databaseUrl },
      siteFile: config,
      secretsDir: paths.secrets,
      sourceKeyHash: `sha256:${createHash('sha256').update(sourceKey).digest('hex')}`,
      auditHead: paths.auditHead,
    },
  });
  const running = await startProgram({
    ...program,
    name: `crm-writer-${nth}`,
    logFile: program.logFile.replace(/\.log$/, `-${nth}.log`),
    env: { ...program.env, ...env },
  });
  const stop = (signal = program.stopSignal): Promise<void> => stopProcess(running.identity, signal, program.stopGraceMs);
  await eventually(async () => {
    if (!(await program.ready())) throw new Error(`crm-writer ${nth} is not ready`);
  }, 60_000).catch(async (error: Error) => {
    await stop('SIGKILL');
    throw error;
  });
  return { stop };
}

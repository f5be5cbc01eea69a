import { spawn } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { answersOk, type Program } from '#testkit';
import { commonEnvironment, internalUrl, type Surroundings, serviceEnvironment } from './environment.js';
import type { Service } from './ports.js';
import { lastLines } from './supervised.js';

/** A demo on one machine: a small young generation costs some throughput and saves tens of megabytes in each of six processes. */
const youngMb: Readonly<Record<Service, number>> = { intake: 8, 'crm-writer': 8, notifier: 4, operator: 4, reconciler: 4, sandbox: 4 };
const nodeFlags = (service: Service): string[] => ['--max-old-space-size=512', `--max-semi-space-size=${youngMb[service]}`];

const mainOf = (root: string, app: string): string => join(root, 'dist', 'apps', app, 'src', 'main.js');

/** A service as a program; ready when its own readiness says so. */
export function serviceProgram(
  service: Service,
  { root, logDir, surroundings }: { root: string; logDir: string; surroundings: Surroundings },
): Program {
  const ready = `${internalUrl(surroundings.ports, service)}/health/ready`;
  return {
    name: service,
    command: process.execPath,
    args: [...nodeFlags(service), mainOf(root, service)],
    env: serviceEnvironment(service, surroundings),
    cwd: root,
    logFile: join(logDir, `${service}.log`),
    stopSignal: 'SIGTERM',
    stopGraceMs: 20_000,
    ready: () => answersOk(ready),
  };
}

export interface JobOptions {
  root: string;
  logDir: string;
  surroundings: Surroundings;
  signal: AbortSignal;
}

/** Runs one `leadctl` job to its end. Throws, with its last words, when it fails. */
export async function runJob(job: string, { root, logDir, surroundings, signal }: JobOptions): Promise<void> {
  const logFile = join(logDir, `leadctl-${job.replaceAll(' ', '-')}.log`);
  const log = createWriteStream(logFile, { flags: 'a' });
  const child = spawn(process.execPath, [mainOf(root, 'leadctl'), ...job.split(' ')], {
    cwd: root,
    env: commonEnvironment(surroundings),
    stdio: ['ignore', 'pipe', 'pipe'],
    signal,
  });
  for (const stream of [child.stdout, child.stderr]) stream.pipe(log, { end: false });
  let complaint = '';
  child.stderr.on('data', (text: Buffer) => {
    complaint += text.toString();
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  await new Promise<void>((resolve) => log.end(resolve));
  if (code !== 0) throw new Error(`leadctl ${job} ended with code ${code}:\n${complaint.trimEnd() || lastLines(logFile, 20)}`);
}

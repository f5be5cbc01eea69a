import { execFile, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from '@jest/globals';
import {
  type Endpoints,
  identify,
  type ProcessIdentity,
  pause,
  type RunState,
  readJsonFile,
  runPaths,
  startTestInfra,
  type TestInfra,
} from '#testkit';
import { eventually } from './eventually.js';
import { Sandbox } from './sandbox.js';
import { IntakeClient, leadBody } from './traffic.js';

/** An instance as a person has it: a run directory, and the first of its ports. */
export interface Instance {
  dir: string;
  port: string;
}

export const run = promisify(execFile);

const place = ({ dir, port }: Instance): string[] => ['--run-dir', dir, '--port-base', port];

/** Of this machine alone, whatever runs elsewhere; the instance ends with this process, even when that is killed. */
function ownEnvironment(): NodeJS.ProcessEnv {
  const { KAFKA_BROKERS: _brokers, SCHEMA_REGISTRY_URL: _registry, DATABASE_URL: _database, ...rest } = process.env;
  return { ...rest, LD_INFRA: 'embedded', LD_STOP_WITH_PID: String(process.pid) };
}

/** `npm start -- --no-samples --detach`. Rejects when it fails. */
export const start = (instance: Instance, env: Record<string, string> = {}): Promise<{ stdout: string; stderr: string }> =>
  run('npm', ['start', '--', '--no-samples', '--detach', ...place(instance)], { timeout: 180_000, env: { ...ownEnvironment(), ...env } });

export const stop = (instance: Instance): Promise<unknown> => run('npm', ['stop', '--', '--run-dir', instance.dir], { timeout: 60_000 });

export const endpoints = (instance: Instance): Endpoints =>
  JSON.parse(readFileSync(join(instance.dir, 'endpoints.json'), 'utf8')) as Endpoints;

export interface Foreground {
  /** All that was printed so far. */
  said(): string;
  /** What a terminal does on Ctrl-C: SIGINT to all of its programs; and once more after 50 ms, as where npm passes it on. Returns when `npm start` has ended. */
  interrupt(): Promise<void>;
}

/** `npm start` in a terminal, its output read through a pipe. Returns once it says that it runs; throws, with what it said, when it ends before. */
export async function startInForeground(instance: Instance): Promise<Foreground> {
  const child = spawn('npm', ['start', '--', ...place(instance)], {
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
    env: ownEnvironment(),
  });
  const ended = new Promise<string>((resolve) => child.once('close', () => resolve('ended')));
  let said = '';
  const runs = new Promise<string>((resolve) => {
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (text: Buffer) => {
        said += text.toString();
        if (said.includes('Running until Ctrl-C')) resolve('runs');
      });
  });
  if ((await Promise.race([runs, ended])) === 'ended') throw new Error(`npm start ended: ${said}`);
  return {
    said: () => said,
    interrupt: async () => {
      const group = -Number(child.pid);
      process.kill(group, 'SIGINT');
      await pause(50);
      process.kill(group, 'SIGINT');
      await ended;
    },
  };
}

/** What the state file of a running instance names: its children, and with them the launcher that keeps them. */
export function recorded({ dir }: Instance): { children: string[]; processes: ProcessIdentity[] } {
  const { lock, state } = runPaths(dir);
  const launcher = readJsonFile<ProcessIdentity>(lock);
  const children = readJsonFile<RunState>(state)?.children ?? [];
  if (launcher === undefined) throw new Error(`no instance runs in ${dir}`);
  return { children: children.map(({ name }) => name).sort(), processes: [launcher, ...children.map(({ identity }) => identity)] };
}

/** The instance's ports on which something answers. */
export async function openPorts({ port }: Instance): Promise<number[]> {
  const ports = Array.from({ length: 20 }, (_, at) => Number(port) + at);
  const open = await Promise.all(
    ports.map(
      (one) =>
        new Promise<boolean>((resolve) => {
          const socket = connect(one, '127.0.0.1', () => resolve(true));
          socket.on('error', () => resolve(false));
          socket.on('close', () => resolve(false));
          socket.once('connect', () => socket.destroy());
        }),
    ),
  );
  return ports.filter((_, at) => open[at]);
}

/** Waits until a lead that intake has accepted is in the CRM and in the chat, each once; gives its event id. */
export async function arrives(instance: Instance, { event_id, lead_ref }: Record<string, unknown>): Promise<string> {
  const sandbox = new Sandbox(endpoints(instance));
  await eventually(async () => {
    expect(await sandbox.leads(String(event_id))).toHaveLength(1);
    expect((await sandbox.messages()).filter(({ text }) => text.includes(String(lead_ref)))).toHaveLength(1);
  });
  return String(event_id);
}

export async function deliverOne(instance: Instance, sourceEventId: string): Promise<string> {
  const { body } = await new IntakeClient(endpoints(instance)).post(leadBody(sourceEventId, 0));
  return arrives(instance, body);
}

/** Kafka, registry and PostgreSQL in the folder that LD_TEST_INFRA names. `stopTestInfra` ends them. */
export function startServers(): Promise<TestInfra> {
  const owner = identify(process.pid);
  return startTestInfra({ progress: () => undefined, ...(owner === undefined ? {} : { owner }) });
}

import { execFile, spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, it } from '@jest/globals';
import type { Endpoints } from '#testkit';
import { eventually } from '../support/eventually.js';
import { Sandbox } from '../support/sandbox.js';
import { IntakeClient, leadBody } from '../support/traffic.js';

/** The commands of the README: start, post, stop, start again on the kept data, two instances, reset. */
const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), 'lead-delivery-'));
// PostgreSQL runs as a user of its own where the tests run as root; a folder that it may not enter would send its data elsewhere.
chmodSync(folder, 0o755);
const one = { dir: join(folder, 'one'), port: '9300' };
const two = { dir: join(folder, 'two'), port: '9400' };

const start = (instance: typeof one): Promise<unknown> =>
  run('npm', ['start', '--', '--no-samples', '--detach', '--run-dir', instance.dir, '--port-base', instance.port], { timeout: 180_000 });
const stop = (instance: typeof one): Promise<unknown> => run('npm', ['stop', '--', '--run-dir', instance.dir], { timeout: 60_000 });
const endpoints = (instance: typeof one): Endpoints => JSON.parse(readFileSync(join(instance.dir, 'endpoints.json'), 'utf8')) as Endpoints;

afterAll(async () => {
  await Promise.all([one, two].filter(({ dir }) => existsSync(dir)).map((instance) => stop(instance).catch(() => undefined)));
  rmSync(folder, { recursive: true, force: true });
}, 120_000);

async function openPorts(instance: typeof one): Promise<number[]> {
  const base = Number(instance.port);
  const ports = Array.from({ length: 20 }, (_, at) => base + at);
  const open = await Promise.all(
    ports.map(
      (port) =>
        new Promise<boolean>((resolve) => {
          const socket = connect(port, '127.0.0.1', () => resolve(true));
          socket.on('error', () => resolve(false));
          socket.on('close', () => resolve(false));
          socket.once('connect', () => socket.destroy());
        }),
    ),
  );
  return ports.filter((_, at) => open[at]);
}

const alive = (pid: number): boolean => existsSync(`/proc/${pid}`);

async function deliverOne(instance: typeof one, sourceEventId: string): Promise<string> {
  const { body } = await new IntakeClient(endpoints(instance)).post(leadBody(sourceEventId, 0));
  const sandbox = new Sandbox(endpoints(instance));
  await eventually(async () => {
    expect(await sandbox.leads(String(body.event_id))).toHaveLength(1);
    expect((await sandbox.messages()).filter(({ text }) => text.includes(String(body.lead_ref)))).toHaveLength(1);
  });
  return String(body.event_id);
}

it('starts two instances side by side, stops exactly one, and starts it again on its data', async () => {
  await start(one);
  await start(two);
  const first = endpoints(one);
  const firstId = await deliverOne(one, 'start-1');
  await deliverOne(two, 'start-2');
  expect(readdirSync(join(one.dir, 'secrets')).every((name) => (statSync(join(one.dir, 'secrets', name)).mode & 0o777) === 0o600)).toBe(
    true,
  );
  const schemaBefore = await (await fetch(`${first.schemaRegistry}/subjects/lead.accepted-value/versions/latest`)).json();

  await stop(one);
  expect(await openPorts(one)).toEqual([]);
  expect(existsSync(join(one.dir, 'endpoints.json'))).toBe(false);
  expect(Object.values(first.pids).filter(alive)).toEqual([]);
  await deliverOne(two, 'start-3');

  await start(one);
  const schemaAfter = await (await fetch(`${endpoints(one).schemaRegistry}/subjects/lead.accepted-value/versions/latest`)).json();
  expect(schemaAfter).toEqual(schemaBefore);
  const kept = await new IntakeClient(endpoints(one)).get(`/v1/leads/${firstId}`);
  expect(kept.body).toMatchObject({ event_id: firstId });
  await deliverOne(one, 'start-4');
}, 400_000);

it('starts a killed service again under another pid and says so in endpoints.json', async () => {
  const before = endpoints(one).pids['crm-writer'];
  process.kill(Number(before), 'SIGKILL');
  await eventually(() => {
    const after = endpoints(one).pids['crm-writer'];
    expect(after).not.toBe(before);
    expect(alive(Number(after))).toBe(true);
  }, 30_000);
  await deliverOne(one, 'start-5');
}, 90_000);

it('refuses a second start on ports in use, naming a port and the option', async () => {
  const refused = run('npm', ['start', '--', '--no-samples', '--detach', '--run-dir', join(folder, 'three'), '--port-base', two.port], {
    timeout: 120_000,
  });
  await expect(refused).rejects.toMatchObject({ stderr: expect.stringMatching(/--port-base/) });
}, 150_000);

it('stops everything it started on Ctrl-C, and is wiped by reset', async () => {
  await stop(one);
  const child = spawn('npm', ['start', '--', '--no-samples', '--run-dir', one.dir, '--port-base', one.port], {
    stdio: 'ignore',
    detached: true,
  });
  const ended = new Promise((resolve) => child.on('exit', resolve));
  await eventually(async () => expect((await fetch(`${endpoints(one).internal.intake}/health/ready`)).status).toBe(200), 120_000);
  const { pids } = endpoints(one);
  process.kill(-Number(child.pid), 'SIGINT');
  await ended;
  expect(await openPorts(one)).toEqual([]);
  expect(Object.values(pids).filter(alive)).toEqual([]);
  await run('npm', ['run', 'reset', '--', '--run-dir', one.dir], { timeout: 60_000 });
  expect(existsSync(one.dir)).toBe(false);
}, 300_000);

import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from '@jest/globals';
import { infraAnswers, isRunning, pause, projectRoot, runningTestInfra, stopTestInfra } from '#testkit';
import { postAsReadme } from '../../scripts/first-sight/readme-commands.js';
import { services } from '../../scripts/launcher/ports.js';
import { scanStack } from '../privacy/scan-stack.js';
import { eventually } from '../support/eventually.js';
import { Sandbox } from '../support/sandbox.js';
import {
  arrives,
  deliverOne,
  endpoints,
  type Foreground,
  type Instance,
  openPorts,
  recorded,
  run,
  start,
  startInForeground,
  startServers,
  stop,
} from '../support/start-instance.js';
import { IntakeClient } from '../support/traffic.js';

/** The commands of the README: start, post, stop, start again on the kept data, two instances, servers of one's own, reset. */
const folder = mkdtempSync(join(tmpdir(), 'lead-delivery-'));
// PostgreSQL runs as a user of its own where the tests run as root; a folder that it may not enter would send its data elsewhere.
chmodSync(folder, 0o755);
const one = { dir: join(folder, 'one'), port: '9300' };
const two = { dir: join(folder, 'two'), port: '9400' };
const guest = { dir: join(folder, 'guest'), port: '9500' };
// Neither the tests' shared servers nor those of another worker.
process.env.LD_TEST_INFRA = join(folder, 'servers');
const servers = ['kafka', 'registry', 'postgres'] as const;

afterAll(async () => {
  await Promise.all([one, two, guest].filter(({ dir }) => existsSync(dir)).map((instance) => stop(instance).catch(() => undefined)));
  await stopTestInfra();
  rmSync(folder, { recursive: true, force: true });
}, 120_000);

const alive = (pid: number): boolean => existsSync(`/proc/${pid}`);
const schemaOf = async (instance: Instance): Promise<unknown> =>
  (await fetch(`${endpoints(instance).schemaRegistry}/subjects/lead.accepted-value/versions/latest`)).json();
let firstId: string;
let schemaBefore: unknown;
let foreground: Foreground;

it('starts two instances side by side, and stops exactly one', async () => {
  await Promise.all([start(one), start(two)]);
  const posted = await postAsReadme(projectRoot(), one.dir, process.env);
  expect(posted.status).toBe(202);
  firstId = await arrives(one, posted.body);
  await deliverOne(two, 'start-2');
  expect(readdirSync(join(one.dir, 'secrets')).every((name) => (statSync(join(one.dir, 'secrets', name)).mode & 0o777) === 0o600)).toBe(
    true,
  );
  schemaBefore = await schemaOf(one);

  const { children, processes } = recorded(one);
  expect(children).toEqual([...servers, ...services].sort());
  await stop(one);
  expect(await openPorts(one)).toEqual([]);
  expect(existsSync(join(one.dir, 'endpoints.json'))).toBe(false);
  expect(processes.filter(isRunning)).toEqual([]);
  await deliverOne(two, 'start-3');
}, 400_000);

it('starts it again on its data, and shows three leads from both doors to the chat and where all is', async () => {
  foreground = await startInForeground(one);
  const { said } = foreground;
  const steps = (what: string): string[] => said().match(new RegExp(`^.*: ${what}.*$`, 'gm')) ?? [];
  expect(steps('accepted as L-')).toHaveLength(3);
  expect(steps('accepted as L-').filter((line) => line.includes('(HTTP)'))).toHaveLength(2);
  expect(steps('accepted as L-').filter((line) => line.includes('(Kafka)'))).toHaveLength(1);
  expect(steps('seen in the chat as message')).toHaveLength(3);
  const { intake, operator, sandboxCrm, schemaRegistry, kafkaBrokers, metrics } = endpoints(one);
  const urls = [`${intake}/v1/leads`, new URL('/', sandboxCrm).href, operator, schemaRegistry, kafkaBrokers, ...Object.values(metrics)];
  expect(urls.filter((url) => !said().includes(url))).toEqual([]);
  expect((await new Sandbox(endpoints(one)).crmStats()).records).toBe(3);

  expect(await schemaOf(one)).toEqual(schemaBefore);
  const kept = await new IntakeClient(endpoints(one)).get(`/v1/leads/${firstId}`);
  expect(kept.body).toMatchObject({ event_id: firstId });
  await deliverOne(one, 'start-4');
}, 300_000);

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
  const refused = start({ dir: join(folder, 'three'), port: two.port });
  await expect(refused).rejects.toMatchObject({ stderr: expect.stringMatching(/--port-base/) });
}, 150_000);

it('leaves no personal data outside the vault, the topic leads and the destinations', async () => {
  for (const instance of [one, two]) await scanStack({ runDir: instance.dir, endpoints: () => endpoints(instance) });
}, 120_000);

it('stops everything in order on Ctrl-C, also where that comes twice, and is wiped by reset', async () => {
  const { processes } = recorded(one);
  await foreground.interrupt();
  expect(foreground.said()).toContain('Stopped');
  expect(existsSync(join(one.dir, 'endpoints.json'))).toBe(false);
  expect(await openPorts(one)).toEqual([]);
  expect(processes.filter(isRunning)).toEqual([]);
  await run('npm', ['run', 'reset', '--', '--run-dir', one.dir], { timeout: 60_000 });
  expect(existsSync(one.dir)).toBe(false);
}, 120_000);

it('ends everything at once on a second Ctrl-C while it waits for a service, and names no running instance any more', async () => {
  const { processes } = recorded(two);
  const [launcher] = processes;
  // It cannot end by itself: stopping takes as long as its grace.
  process.kill(Number(endpoints(two).pids.notifier), 'SIGSTOP');
  process.kill(Number(launcher?.pid), 'SIGINT');
  await pause(1_500);
  process.kill(Number(launcher?.pid), 'SIGINT');
  await eventually(() => expect(processes.filter(isRunning)).toEqual([]), 5_000);
  expect(existsSync(join(two.dir, 'endpoints.json'))).toBe(false);
  await eventually(async () => expect(await openPorts(two)).toEqual([]), 30_000);
}, 60_000);

it('uses the servers that the environment names, starts none beside them, and leaves them running', async () => {
  const given = await startServers();
  const { kafkaBrokers, schemaRegistry, databaseUrl } = given;
  await start(guest, { KAFKA_BROKERS: kafkaBrokers, SCHEMA_REGISTRY_URL: schemaRegistry, DATABASE_URL: databaseUrl });
  expect(endpoints(guest)).toMatchObject({ kafkaBrokers, schemaRegistry, databaseUrl });
  const { children, processes } = recorded(guest);
  expect(children).toEqual([...services].sort());
  await deliverOne(guest, 'start-6');

  await stop(guest);
  expect(await openPorts(guest)).toEqual([]);
  expect(processes.filter(isRunning)).toEqual([]);
  expect(await Promise.all(servers.map((part) => infraAnswers(part, given)))).toEqual([true, true, true]);
  expect(runningTestInfra()?.programs).toEqual(given.programs);
}, 400_000);

import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { parse } from 'yaml';
import { freePortRange, projectRoot, type RunState, readJsonFile, runPaths, writeJsonFile } from '#testkit';
import { type InfrastructureOptions, infrastructure, infrastructurePorts } from './infrastructure.js';
import { portsFrom } from './ports.js';
import { stopInstance } from './stop-instance.js';

/** The infrastructure in containers, as far as it can be seen without an engine: a `docker` that notes how it is called and does nothing. */
const root = projectRoot();
const file = join(root, 'docker-compose.yml');
const compose = parse(readFileSync(file, 'utf8'), { merge: true }) as {
  services: Record<string, { image?: string; healthcheck?: object; ports?: string[]; environment?: Record<string, unknown> }>;
};
/** As the compose file reads a variable. */
const read = (name: string, fallback: string): string => `\${${name}:-${fallback}}`;
const names = ['KAFKA_PORT', 'REGISTRY_PORT', 'POSTGRES_PORT', 'POSTGRES_PASSWORD'];

interface Call {
  args: string[];
  cwd: string;
  env: Record<string, string>;
}

/** Each look for an engine starts processes. */
jest.setTimeout(60_000);

const environment = { ...process.env };
let dir: string;
let runDir: string;
let told: string[];

/** `fails` is a word of the command that this engine cannot do; `container`, a port that it serves until `down`. */
function installDocker(fails = '', container?: number): void {
  const program = `#!${process.execPath}
const { appendFileSync } = require('node:fs');
const args = process.argv.slice(2);
const env = Object.fromEntries(${JSON.stringify(names)}.flatMap((name) => (name in process.env ? [[name, process.env[name]]] : [])));
appendFileSync(${JSON.stringify(join(dir, 'calls'))}, JSON.stringify({ args, cwd: process.cwd(), env }) + '\\n');
if (args.includes(${JSON.stringify(fails)})) {
  console.error('no space left on device');
  process.exit(17);
}
if (args.includes('down') && ${container !== undefined}) {
  const socket = require('node:net').connect(${container ?? 0}, '127.0.0.1', () => socket.end('down'));
  socket.on('error', () => undefined).resume();
}
`;
  writeFileSync(join(dir, 'docker'), program);
  chmodSync(join(dir, 'docker'), 0o755);
}

const calls = (): Call[] =>
  existsSync(join(dir, 'calls'))
    ? readFileSync(join(dir, 'calls'), 'utf8')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as Call)
    : [];
/** Calls that do more than look for an engine. */
const deeds = (): Call[] => calls().filter(({ args }) => args.includes('--file'));
const wordsOf = ({ args }: Call): string => args.join(' ');

const ports = portsFrom(31_000);
const never = (): never => {
  throw new Error('a program was started');
};
/** What would follow that line downloads and starts real servers. */
function tell(line: string): void {
  told.push(line);
  if (line.endsWith('on this machine')) throw new Error(line);
}
const start = (more: Partial<InfrastructureOptions> = {}) =>
  infrastructure({
    root,
    runDir,
    ports,
    progress: tell,
    run: never,
    runOnce: never,
    signal: new AbortController().signal,
    onDatabase: (url) => told.push(`database ${url}`),
    onCompose: (project) => told.push(`project ${project}, ${deeds().length} calls before`),
    ...more,
  });
const projectTold = (): string => told.map((line) => /^project (\S+),/.exec(line)?.[1]).find((name) => name !== undefined) ?? '';

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'compose-'));
  runDir = join(dir, 'run');
  told = [];
  for (const name of ['KAFKA_BROKERS', 'SCHEMA_REGISTRY_URL', 'DATABASE_URL', 'LD_INFRA', ...names]) delete process.env[name];
  process.env.PATH = `${dir}:${environment.PATH}`;
  installDocker();
});
afterEach(() => {
  process.env = { ...environment };
  rmSync(dir, { recursive: true });
});

describe('where a Docker engine answers', () => {
  it('all three parts are started by one command that waits for their health, on the ports of the instance', async () => {
    const connections = await start();
    const [up, ...more] = deeds();
    expect(more).toEqual([]);
    expect(up).toEqual({
      args: ['compose', '--file', file, '--project-name', projectTold(), 'up', '--detach', '--wait', 'postgres', 'kafka', 'registry'],
      cwd: root,
      env: { KAFKA_PORT: '31002', REGISTRY_PORT: '31004', POSTGRES_PORT: '31005', POSTGRES_PASSWORD: 'lead-delivery' },
    });
    expect(connections).toEqual({
      kafkaBrokers: '127.0.0.1:31002',
      schemaRegistry: 'http://127.0.0.1:31004/apis/ccompat/v7',
      databaseUrl: 'postgresql://postgres:lead-delivery@127.0.0.1:31005/leads',
    });
    expect(infrastructurePorts(ports)).toMatchObject({ Kafka: 31_002, 'schema registry': 31_004, PostgreSQL: 31_005 });
    // Known before there is anything to be found again; the database only once it is there.
    expect(told.filter((line) => /^(project|database) /.test(line))).toEqual([
      `project ${projectTold()}, 0 calls before`,
      `database ${connections.databaseUrl}`,
    ]);
  });

  it('what that command names and sets is what the compose file has and reads', () => {
    const { kafka, registry, postgres } = compose.services;
    for (const service of [kafka, registry, postgres]) expect(service).toMatchObject({ image: expect.any(String), healthcheck: {} });
    expect([kafka, registry, postgres].map((service) => service?.ports)).toEqual([
      [`127.0.0.1:${read('KAFKA_PORT', '7302')}:9094`],
      [`127.0.0.1:${read('REGISTRY_PORT', '7304')}:8080`],
      [`127.0.0.1:${read('POSTGRES_PORT', '7305')}:5432`],
    ]);
    expect(kafka?.environment?.KAFKA_ADVERTISED_LISTENERS).toContain(`OUTSIDE://127.0.0.1:${read('KAFKA_PORT', '7302')}`);
    const password = read('POSTGRES_PASSWORD', 'lead-delivery');
    expect(postgres?.environment).toMatchObject({ POSTGRES_PASSWORD: password, POSTGRES_DB: 'leads' });
  });

  it('each run directory has containers of its own, the same at every start', async () => {
    const projects: string[] = [];
    for (const where of [runDir, join(dir, 'other'), runDir]) {
      await start({ runDir: where, onCompose: (project) => projects.push(project) });
    }
    expect(projects[0]).toMatch(/^lead-delivery-[0-9a-f]{8}$/);
    expect([projects[1] === projects[0], projects[2] === projects[0]]).toEqual([false, true]);
  });

  it('a start that fails says what Docker said and how to go without it', async () => {
    installDocker('up');
    await expect(start()).rejects.toThrow(/LD_INFRA=embedded.*no space left on device/s);
    expect(told.filter((line) => line.startsWith('database'))).toEqual([]);
  });

  it('nothing is asked of it where the environment names all three parts', async () => {
    const given = { KAFKA_BROKERS: 'k:9092', SCHEMA_REGISTRY_URL: 'http://r/', DATABASE_URL: 'postgresql://p/leads' };
    Object.assign(process.env, given);
    expect(await start()).toEqual({ kafkaBrokers: 'k:9092', schemaRegistry: 'http://r', databaseUrl: 'postgresql://p/leads' });
    expect(calls()).toEqual([]);
  });

  it.each<[string, Record<string, string>, string]>([
    ['LD_INFRA=embedded', { LD_INFRA: 'embedded' }, 'kafka, registry, postgres'],
    ['a part that runs elsewhere', { DATABASE_URL: 'postgresql://p/leads' }, 'kafka, registry'],
  ])('it is left alone for %s: the rest starts on this machine', async (_name, env, parts) => {
    Object.assign(process.env, env);
    await expect(start()).rejects.toThrow(`Starting ${parts} on this machine`);
    expect(deeds()).toEqual([]);
  });

  it('and one that does not answer is left alone too', async () => {
    installDocker('version');
    await expect(start()).rejects.toThrow('Starting kafka, registry, postgres on this machine');
    expect(deeds()).toEqual([]);
  });
});

describe('the containers of an instance', () => {
  const state = (more: Partial<RunState>): void => writeJsonFile(runPaths(runDir).state, { portBase: 31_000, children: [], ...more });
  const stop = (forget: boolean) => stopInstance(runDir, { root, forget });

  it.each<[string, boolean, string]>([
    ['stop: their data stay', false, 'down'],
    ['reset: their data go too', true, 'down --volumes'],
  ])('end at %s', async (_name, forget, command) => {
    await start();
    state({ composeProject: projectTold() });
    await stop(forget);
    expect(deeds().slice(1).map(wordsOf)).toEqual([`compose --file ${file} --project-name ${projectTold()} ${command}`]);
    expect(deeds()[1]?.cwd).toBe(root);
  });

  it('are not looked for where an instance never had any', async () => {
    state({});
    await stop(true);
    expect(calls()).toEqual([]);
  });

  it('end with a launcher whose start failed, and are found again should it be killed before that', async () => {
    jest.unstable_mockModule('./check-site-apart.js', () => ({ checkSiteApart: () => Promise.resolve() }));
    const { Instance } = await import('./launch.js');
    installDocker('up');
    const portBase = await freePortRange(16);
    const options = { runDir, portBase, config: join(root, 'config', 'demo.yaml'), samples: false, detach: false };
    const instance = new Instance(options, root, tell);
    await expect(instance.start()).rejects.toThrow('no space left on device');
    const project = readJsonFile<RunState>(runPaths(runDir).state)?.composeProject;
    expect(wordsOf(deeds()[0] as Call)).toContain(`--project-name ${project} up`);
    await instance.stop();
    expect(deeds().slice(1).map(wordsOf)).toEqual([`compose --file ${file} --project-name ${project} down`]);
  });

  it('that a killed launcher left behind give their ports back to the next start in its directory, and to no other', async () => {
    jest.unstable_mockModule('./check-site-apart.js', () => ({ checkSiteApart: () => Promise.resolve() }));
    const { Instance } = await import('./launch.js');
    const portBase = await freePortRange(16);
    // The container: it holds Kafka's port until it is told to go.
    const { kafka } = portsFrom(portBase);
    const container = createServer((socket) =>
      socket.on('data', () => {
        container.close();
        socket.end();
      }),
    );
    await new Promise<void>((resolve) => container.listen(kafka, '127.0.0.1', resolve));
    installDocker('up', kafka);
    const options = { runDir, portBase, config: join(root, 'config', 'demo.yaml'), samples: false, detach: false };
    const stranger = new Instance({ ...options, runDir: join(dir, 'other') }, root, tell);
    await expect(stranger.start()).rejects.toThrow(`in use by another program: port ${kafka} (Kafka)`);
    expect(deeds()).toEqual([]);

    state({ composeProject: 'lead-delivery-0123abcd', portBase });
    const next = new Instance(options, root, tell);
    await expect(next.start()).rejects.toThrow('no space left on device');
    const [down, up] = deeds().map(wordsOf);
    expect(down).toBe(`compose --file ${file} --project-name lead-delivery-0123abcd down`);
    expect(up).toContain(' up --detach');
    for (const instance of [stranger, next]) await instance.stop();
    container.close();
  });
});

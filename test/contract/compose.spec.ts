import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { Command } from 'commander';
import { z } from 'zod';
import * as runtime from '#runtime';
import { createProgram } from '../../apps/leadctl/src/program.js';
import { composePath, readCompose, validateCompose } from './compose-file.js';

const root = join(composePath, '..');
const text = readFileSync(composePath, 'utf8');
const compose = readCompose(text);
const apps = Object.entries(compose.services).flatMap(([name, service]) =>
  service.build ? [{ name, service, app: service.build.args.APP }] : [],
);
const environmentOf = (service: { environment?: Record<string, unknown> }): Record<string, string> =>
  Object.fromEntries(Object.entries(service.environment ?? {}).map(([name, value]) => [name, String(value)]));

/** A whole app is loaded to see what it asks for. */
jest.setTimeout(60_000);

describe('docker-compose.yml', () => {
  it('is a valid Compose file', () => {
    const { validator, problems } = validateCompose(text);
    process.stderr.write(`docker-compose.yml is validated by ${validator}\n`);
    expect(problems).toEqual([]);
  });

  it('would be found wrong if a service had an unknown attribute or a dependency without its condition', () => {
    expect(validateCompose(text.replace('stop_grace_period', 'stop_grace')).problems).not.toEqual([]);
    expect(validateCompose(text.replace('condition: service_healthy', 'condition: healthy')).problems).not.toEqual([]);
  });

  it('uses only services, volumes and configurations that it declares, and files that exist', () => {
    for (const { depends_on = {}, volumes = [] } of Object.values(compose.services)) {
      for (const name of Object.keys(depends_on)) expect(Object.keys(compose.services)).toContain(name);
      for (const volume of volumes) expect(Object.keys(compose.volumes)).toContain(volume.split(':')[0]);
    }
    for (const { file } of Object.values(compose.configs)) if (file !== undefined) expect(existsSync(join(root, file))).toBe(true);
    for (const { service } of apps) expect(existsSync(join(root, String(service.build?.dockerfile)))).toBe(true);
  });

  it('opens ports on this machine alone', () => {
    const ports = Object.values(compose.services).flatMap((service) => service.ports ?? []);
    expect(ports.length).toBeGreaterThan(10);
    for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:\d+:\d+$/);
  });

  it('has one service for each app that is a process of its own', () => {
    const processes = readdirSync(join(root, 'apps')).filter((app) => existsSync(join(root, 'apps', app, 'src/main.ts')));
    expect(apps.map(({ app }) => app).sort()).toEqual(processes.sort());
  });
});

describe('the environment of each service in docker-compose.yml', () => {
  const siteFile = readFileSync(join(root, 'config/demo.yaml'), 'utf8');
  const inSiteFile = [...siteFile.matchAll(/\$\{(\w+)/g)].map(([, name]) => String(name));

  const services = apps.filter(({ app }) => app !== 'leadctl');
  const shapes = new Map<string, z.ZodRawShape>();
  const forJobs = { ...runtime.databaseEnv, ...runtime.kafkaEnv, ...runtime.registryEnv, LD_SITE_FILE: runtime.siteEnv.LD_SITE_FILE };

  beforeAll(async () => {
    for (const { app } of services) shapes.set(app, { ...runtime.baseEnv, ...(await environmentShape(app)) });
  });

  it.each(services)('is accepted by the configuration schema of $app', ({ app, service }) => {
    expect(() => runtime.loadEnv(z.object(shapes.get(app)), environmentOf(service))).not.toThrow();
  });

  it('would be refused if a variable were missing or malformed', () => {
    const { DATABASE_URL: _, ...environment } = environmentOf(compose.services.intake ?? {});
    const load = () => runtime.loadEnv(z.object(shapes.get('intake')), { ...environment, HTTP_PORT: 'http' });
    expect(load).toThrow(/DATABASE_URL/);
    expect(load).toThrow(/HTTP_PORT/);
  });

  it('has no name that nothing reads: a misspelt one would be ignored and its default used', () => {
    const known = new Set([...shapes.values(), forJobs].flatMap(Object.keys).concat(inSiteFile));
    for (const { service } of apps) expect(Object.keys(environmentOf(service)).filter((name) => !known.has(name))).toEqual([]);
  });

  it('lets leadctl run its jobs, in an order that works', () => {
    const leadctl = compose.services.leadctl;
    const jobs = [...String(leadctl?.entrypoint?.at(-1)).matchAll(/(?<=for job in.*)(migrate|"[a-z ]+")(?=.*;)/g)].map(([job]) =>
      job.replaceAll('"', '').split(' '),
    );
    expect(jobs).toEqual([['migrate'], ['topics', 'apply'], ['schemas', 'apply']]);
    for (const names of jobs) {
      let command: Command | undefined = createProgram(() => {});
      for (const name of names) command = command?.commands.find((one) => one.name() === name);
      expect(command).toBeDefined();
    }
    expect(() => runtime.loadEnv(z.object(forJobs), environmentOf(leadctl ?? {}))).not.toThrow();
  });

  it('gives every name that the site file asks for', () => {
    for (const { service } of apps.filter(({ app }) => app !== 'sandbox')) {
      const site = runtime.loadSite(join(root, 'config/demo.yaml'), environmentOf(service));
      expect(site.sources.length).toBeGreaterThan(0);
    }
  });
});

describe('the secrets that the job makes', () => {
  const folder = mkdtempSync(join(tmpdir(), 'secrets-'));
  const make = () => spawnSync(process.execPath, [join(root, 'deploy/make-secrets.mjs'), folder], { encoding: 'utf8' });
  const read = (name: string) => readFileSync(join(folder, name), 'utf8').trim();
  beforeAll(() => expect(make().status).toBe(0));
  afterAll(() => rmSync(folder, { recursive: true }));

  it('are readable by their owner alone and accepted by the services', () => {
    for (const name of readdirSync(folder)) expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600);
    const ring = runtime.KeyRing.fromFile(join(folder, 'keyring.json'));
    const sealed = runtime.seal(ring, Buffer.from('text'), 'aad');
    expect(runtime.unseal(ring, sealed, 'aad').toString()).toBe('text');
    expect(runtime.loadHmacSecret(folder).length).toBe(32);
    expect(Object.keys(runtime.loadInternalTokens(folder)).length).toBeGreaterThan(0);
  });

  it('are kept by a second run', () => {
    const before = read('keyring.json');
    expect(make().stdout).toBe('');
    expect(read('keyring.json')).toBe(before);
  });

  it('hold the source key whose hash stands in the environment of intake', () => {
    const hash = createHash('sha256').update(read('source-key-website')).digest('hex');
    expect(environmentOf(compose.services.intake ?? {}).DEMO_SOURCE_KEY_HASH).toBe(`sha256:${hash}`);
  });
});

/** The variables that an app hands to runService, caught by loading its main.ts with a runService that starts nothing. */
async function environmentShape(app: string): Promise<z.ZodRawShape> {
  let shape: z.ZodRawShape | undefined;
  jest.resetModules();
  jest.unstable_mockModule('#runtime', () => ({
    ...runtime,
    runService: async (options: { env: z.ZodRawShape }) => {
      shape = options.env;
    },
  }));
  await import(`../../apps/${app}/src/main.ts`);
  if (shape === undefined) throw new Error(`${app} does not start through runService`);
  return shape;
}

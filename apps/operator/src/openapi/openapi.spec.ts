import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyInstance, RouteOptions } from 'fastify';
import { silent } from '../../test/rig.js';
import { unstartedAreas } from '../../test/unstarted-areas.js';
import { createApp } from '../http/create-app.js';
import { type Permission, permissions, rolesWith } from '../people/permissions.js';
import type { OpenApi, Operation } from './openapi.js';

/** `GET /v1/leads/{event_id}` of every route that Fastify was given. */
const registered = new Set<string>();
let app: NestFastifyApplication;
let document: OpenApi;

function watchRoutes(message: unknown): void {
  const { fastify } = message as { fastify: FastifyInstance };
  fastify.addHook('onRoute', ({ method, url }: RouteOptions) => {
    for (const verb of [method].flat()) if (verb !== 'HEAD') registered.add(`${verb} ${url.replaceAll(/:(\w+)/g, '{$1}')}`);
  });
}

beforeAll(async () => {
  subscribe('fastify.initialization', watchRoutes);
  const areas = await unstartedAreas();
  app = await createApp(
    { inbox: {} as never, areas },
    { identify: () => Promise.resolve(undefined), onRefused: () => Promise.resolve(), logger: silent },
  );
  await app.init();
  const answer = await app.inject({ method: 'GET', url: '/openapi.json' });
  document = answer.json<OpenApi>();
});
afterAll(async () => {
  unsubscribe('fastify.initialization', watchRoutes);
  await app.close();
});

const operations = (): [string, Operation][] =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]): [string, Operation] => [`${method.toUpperCase()} ${path}`, operation]),
  );

describe('GET /openapi.json', () => {
  it('names every route there is but the console, and none that is not there', () => {
    const described = operations().map(([name]) => name);
    expect(described.toSorted()).toEqual([...registered].filter((name) => !name.endsWith('/*')).toSorted());
    expect(described.length).toBeGreaterThan(20);
  });

  it('says of every operation what it is for, who may call it and what it answers', () => {
    for (const [name, operation] of operations()) {
      expect({ name, ...operation }).toMatchObject({ summary: expect.stringMatching(/./), 'x-permission': expect.anything() });
      const { 'x-permission': access, 'x-roles': roles } = operation;
      if (access === 'public') expect({ name, security: operation.security }).toEqual({ name, security: [] });
      else expect(operation.responses).toMatchObject({ 401: {}, 403: {} });
      if (permissions.includes(access as Permission)) expect({ name, roles }).toEqual({ name, roles: rolesWith(access as Permission) });
      expect(roles).toContain('admin');
      const done = Object.entries(operation.responses).filter(([status]) => status.startsWith('2'));
      expect({ name, done }).toMatchObject({ name, done: [[expect.any(String), { content: expect.anything() }]] });
    }
  });

  it('lets nobody unknown near anything under /v1', () => {
    const open = operations().filter(([name, operation]) => name.includes(' /v1/') && operation['x-permission'] === 'public');
    expect(open).toEqual([]);
  });

  it('has one operation of a name, every parameter of its path, and every schema that it refers to', () => {
    const ids = operations().map(([, { operationId }]) => operationId);
    expect(new Set(ids).size).toBe(ids.length);
    for (const [name, { parameters = [] }] of operations()) {
      const inPath = (parameters as { in: string; name: string }[]).filter((one) => one.in === 'path').map((one) => one.name);
      expect({ name, inPath: inPath.toSorted() }).toEqual({
        name,
        inPath: [...name.matchAll(/\{(\w+)\}/g)].map(([, one]) => one).toSorted(),
      });
    }
    const references = [...JSON.stringify(document).matchAll(/"#\/components\/schemas\/([^"]+)"/g)].map(([, name = '']) => name);
    expect(references.filter((name) => document.components.schemas[name] === undefined)).toEqual([]);
  });
});

import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Body, Controller, Get, Param, Post, Req } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { OperatorConfig, Site } from '#runtime';
import { silent } from '../../test/rig.js';
import type { AreaTools } from '../area.js';
import { permissions, permissionsOf, type Role, roles } from '../people/permissions.js';
import type { Person } from '../people/person.js';
import { asker } from './asked-by.js';
import { createApp } from './create-app.js';
import { peopleArea } from './me.controller.js';
import { type OnRefused, Permit } from './permit.js';
import { readInput } from './read-input.js';
import { refusals } from './refusal.js';

const body = z.strictObject({ reason: z.string().min(1) });

@Controller('v1/spec')
class SpecController {
  @Get('list')
  @Permit('list')
  list(@Req() request: FastifyRequest) {
    return { subject: asker(request).subject };
  }

  @Post('leads/:event_id/reveal')
  @Permit('reveal', { summary: 'Shows', body })
  reveal(@Body() given: unknown, @Param('event_id') eventId: string) {
    return { eventId, ...readInput(body, given) };
  }

  @Post('approve')
  @Permit('replay_approve')
  approve() {
    throw refusals.conflict('stale', 'It was changed since');
  }

  @Post('stop')
  @Permit(['replay_request', 'replay_approve'])
  stop() {
    return {};
  }

  @Get('nobody')
  nobody() {
    return {};
  }
}

const personOf = (role: Role): Person => {
  return { subject: role, name: role, roles: [role], permissions: permissionsOf([role]), organizations: ['demo'] };
};
const operator: OperatorConfig = {
  policies: { singleOperator: { max: 50 } },
};

let app: NestFastifyApplication;
const refused: Parameters<OnRefused>[0][] = [];

beforeAll(async () => {
  const signIn = () => Promise.resolve({ issuer: 'https://id.example.test', client_id: 'console' });
  const tools = { site: { operator } as Site, signIn } as AreaTools;
  app = await createApp(
    { inbox: {} as never, areas: [await peopleArea(tools), { controllers: [SpecController] }] },
    {
      identify: async (authorization) => {
        const role = authorization?.replace('Bearer ', '') as Role | 'late' | undefined;
        if (role === 'late') throw refusals.unauthorized('The token has expired: sign in again');
        return role !== undefined && roles.includes(role) ? personOf(role) : undefined;
      },
      onRefused: async (one) => void refused.push(one),
      logger: silent,
    },
  );
  await app.init();
});
afterAll(() => app.close());
beforeEach(() => void refused.splice(0));

async function ask(url: string, as?: string, payload?: object) {
  const answer = await app.inject({
    method: payload === undefined ? 'GET' : 'POST',
    url,
    headers: as === undefined ? {} : { authorization: `Bearer ${as}` },
    ...(payload !== undefined && { payload }),
  });
  return { status: answer.statusCode, headers: answer.headers, json: answer.json<Record<string, unknown>>() };
}

describe('the door of people', () => {
  it.each([undefined, 'stranger'])('lets %s in nowhere under /v1, whether there is something or not', async (as) => {
    for (const url of ['/v1/spec/list', '/v1/spec/nobody', '/v1/nothing', '/v1/me']) {
      const answer = await ask(url, as);
      expect(answer).toMatchObject({ status: 401, json: { type: 'urn:lead-delivery:problem:unauthorized' } });
      expect(answer.headers['www-authenticate']).toBe('Bearer');
    }
  });

  it('says so when a token has expired', async () => {
    expect(await ask('/v1/me', 'late')).toMatchObject({ status: 401, json: { detail: expect.stringContaining('expired') } });
  });

  it('is open where people cannot have signed in yet, and says how they do', async () => {
    expect(await ask('/console-config.json')).toMatchObject({
      status: 200,
      json: { oidc: { issuer: 'https://id.example.test', client_id: 'console' } },
    });
  });
});

describe('a route', () => {
  it('is done for who has its permission', async () => {
    expect(await ask('/v1/spec/list', 'viewer')).toMatchObject({ status: 200, json: { subject: 'viewer' } });
    expect(await ask('/v1/spec/leads/e-1/reveal', 'operator', { reason: 'called back' })).toMatchObject({
      status: 201,
      json: { eventId: 'e-1', reason: 'called back' },
    });
    expect(refused).toEqual([]);
  });

  it.each([
    ['viewer', '/v1/spec/leads/e-1/reveal', 'reveal'],
    ['approver', '/v1/spec/leads/e-1/reveal', 'reveal'],
    ['viewer', '/v1/spec/approve', 'replay_approve'],
    ['operator', '/v1/spec/approve', 'replay_approve'],
  ])(
    'is refused to a %s without its permission, by name, before the input is read, and the refusal is told',
    async (role, url, permission) => {
      const answer = await ask(url, role, {});
      expect(answer).toMatchObject({ status: 403, json: { type: 'urn:lead-delivery:problem:forbidden' } });
      expect(answer.json.detail).toContain(`permission ${permission}`);
      expect(answer.json.detail).toContain('admin');
      expect(refused).toMatchObject([{ permission, person: { subject: role } }]);
      expect(refused[0]?.route).toMatch(/^POST \/v1\/spec\//);
    },
  );

  it('that needs one of two permissions is done for who has either', async () => {
    const statuses = await Promise.all(roles.map(async (role) => [role, (await ask('/v1/spec/stop', role, {})).status]));
    expect(Object.fromEntries(statuses)).toEqual({ viewer: 403, operator: 201, approver: 201, admin: 201 });
    expect(refused).toMatchObject([{ permission: 'replay_request' }]);
  });

  it('without a permission is refused to everybody', async () => {
    expect((await ask('/v1/spec/nobody', 'admin')).status).toBe(403);
  });

  it('names every field that is wrong, and says why something does not fit what is there', async () => {
    expect(await ask('/v1/spec/leads/e-1/reveal', 'admin', { reason: '', why: 1 })).toMatchObject({ status: 422 });
    expect(await ask('/v1/spec/approve', 'admin', {})).toMatchObject({
      status: 409,
      json: { type: 'urn:lead-delivery:problem:stale', detail: 'It was changed since' },
    });
  });
});

describe('GET /v1/me', () => {
  it.each(roles)('tells a %s what is allowed, and of everything else why not', async (role) => {
    const { status, json } = await ask('/v1/me', role);
    expect({ status, ...json }).toMatchObject({ status: 200, subject: role, roles: [role], organizations: ['demo'] });
    expect(json.single_operator_policy).toEqual({ max: 50 });
    const allowed = json.permissions as string[];
    expect(allowed).toEqual(permissionsOf([role]));
    expect(Object.keys(json.refused as object).toSorted()).toEqual(permissions.filter((one) => !allowed.includes(one)).toSorted());
    for (const [permission, why] of Object.entries(json.refused as Record<string, string>)) expect(why).toContain(permission);
  });
});

import { type CanActivate, type ExecutionContext, SetMetadata } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { z } from 'zod';
import { type Permission, rolesWith } from '../people/permissions.js';
import type { Person } from '../people/person.js';
import { asker } from './asked-by.js';
import { refusals } from './refusal.js';

/** A list: whoever has one of them. `signed_in`: any person; `public`: anybody, only outside /v1. */
export type Access = Permission | readonly [Permission, ...Permission[]] | 'signed_in' | 'public';

/** What a route takes and gives; the OpenAPI document is made from it. Defaults: nothing taken, status 200. */
export interface RouteShape {
  summary: string;
  params?: z.ZodType;
  query?: z.ZodType;
  body?: z.ZodType;
  /** Absent: the answer is not JSON, see `produces`. */
  response?: z.ZodType;
  /** Media type of an answer that is not JSON. */
  produces?: string;
}

export interface Permitted {
  access: Access;
  shape?: RouteShape;
}

/** Metadata key under which `@Permit` keeps a `Permitted` on the handler. */
export const permitKey = 'lead-delivery:permit';

/** Names the permission that the handler needs and what it takes and gives. A handler without it is refused to everybody. */
export const Permit = (access: Access, shape?: RouteShape): MethodDecorator =>
  SetMetadata(permitKey, { access, shape } satisfies Permitted);

/** Told of each refusal, before it is answered. */
export type OnRefused = (refused: {
  person: Person;
  permission: Permission;
  route: string;
  params: Record<string, string>;
}) => Promise<void>;

/** Lets a request through to its handler when the person has the permission that the handler names. */
export class PermitGuard implements CanActivate {
  constructor(private readonly onRefused: OnRefused) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const { access } = (Reflect.getMetadata(permitKey, context.getHandler()) ?? {}) as Partial<Permitted>;
    if (access === undefined) throw refusals.forbidden('Nobody may do this: the route names no permission');
    if (access === 'public') return true;
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    const person = asker(request);
    if (access === 'signed_in') return true;
    const needed = typeof access === 'string' ? ([access] as const) : access;
    if (needed.some((permission) => person.permissions.includes(permission))) return true;
    const [permission] = needed;
    const { url = '' } = request.routeOptions;
    await this.onRefused({ person, permission, route: `${request.method} ${url}`, params: request.params as Record<string, string> });
    throw refusals.forbidden(whyNot(permission));
  }
}

/** Why somebody without the permission is refused, and who has it. */
export function whyNot(permission: Permission): string {
  return `This needs the permission ${permission}, which the roles ${rolesWith(permission).join(', ')} have`;
}

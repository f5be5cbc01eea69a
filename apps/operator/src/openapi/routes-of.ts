import { RequestMethod, type Type } from '@nestjs/common';
import { type Permitted, permitKey, type RouteShape } from '../http/permit.js';

/** Under which Nest keeps what its decorators say; it exports no names for them. */
const nest = { path: 'path', method: 'method', status: '__httpCode__' } as const;

/** One route as its handler declares it. */
export interface DeclaredRoute {
  method: 'get' | 'post' | 'put' | 'patch' | 'delete';
  /** As Fastify reads it: `/v1/leads/:event_id`. */
  path: string;
  /** Absent: nobody may call it. */
  access?: Permitted['access'];
  shape?: RouteShape;
  /** Of an answer that is no problem. */
  status: number;
  /** Controller and handler: `BatchesController.draft`. */
  handler: string;
}

/** Every HTTP route of the controllers, in the order in which they declare them. */
export function routesOf(controllers: readonly Type[]): DeclaredRoute[] {
  return controllers.flatMap((controller) => {
    const prototype = controller.prototype as Record<string, unknown>;
    return Object.getOwnPropertyNames(prototype).flatMap((name) => {
      const handler = Object.getOwnPropertyDescriptor(prototype, name)?.value as unknown;
      return typeof handler === 'function' ? routeOf(controller, handler) : [];
    });
  });
}

function routeOf(controller: Type, handler: object & { name?: string }): DeclaredRoute[] {
  const verb = Reflect.getMetadata(nest.method, handler) as RequestMethod | undefined;
  if (verb === undefined) return [];
  const method = RequestMethod[verb].toLowerCase() as DeclaredRoute['method'];
  const { access, shape } = (Reflect.getMetadata(permitKey, handler) ?? {}) as Partial<Permitted>;
  const parts = [Reflect.getMetadata(nest.path, controller), Reflect.getMetadata(nest.path, handler)] as string[];
  const path = parts
    .flatMap((part) => part.split('/'))
    .filter((part) => part !== '')
    .join('/');
  const status = Reflect.getMetadata(nest.status, handler) as number | undefined;
  return [
    {
      method,
      path: `/${path}`,
      access,
      shape,
      status: status ?? (method === 'post' ? 201 : 200),
      handler: `${controller.name}.${handler.name}`,
    },
  ];
}

import type { Type } from '@nestjs/common';
import { z } from 'zod';
import type { Access } from '../http/permit.js';
import { type Role, roles, rolesWith } from '../people/permissions.js';
import { fieldsOf, type JsonSchema, schemaOf } from './json-schema.js';
import { type DeclaredRoute, routesOf } from './routes-of.js';

const problem = z
  .object({
    type: z.string().describe('urn:lead-delivery:problem:<slug>'),
    title: z.string(),
    status: z.int(),
    detail: z.string().optional(),
    errors: z
      .array(z.object({ field: z.string(), problem: z.string(), fix: z.string() }))
      .optional()
      .describe('Every wrong field with what to do about it. Values are never repeated.'),
  })
  .loose()
  .meta({ title: 'Problem' });

export interface OpenApi {
  openapi: '3.1.0';
  info: object;
  security: object[];
  paths: Record<string, Record<string, Operation>>;
  components: { securitySchemes: object; schemas: Record<string, JsonSchema> };
}

export interface Operation {
  operationId: string;
  summary: string;
  tags: string[];
  /** Permission, several of which one is enough, `signed_in` or `public`. */
  'x-permission': Access;
  /** Roles that have it. */
  'x-roles': readonly Role[];
  security?: object[];
  parameters?: object[];
  requestBody?: { required: boolean; content: Record<string, { schema: object }> };
  responses: Record<string, object>;
}

/** The contract of every route of the controllers, from what their handlers declare. A handler that declares nothing is left out. */
export function openApi(controllers: readonly Type[]): OpenApi {
  const paths: OpenApi['paths'] = {};
  const schemas: Record<string, JsonSchema> = { Problem: schemaOf(problem, 'output') };
  for (const route of routesOf(controllers)) {
    if (route.access === undefined || route.shape === undefined) continue;
    const path = route.path.replaceAll(/:(\w+)/g, '{$1}');
    paths[path] = { ...paths[path], [route.method]: operation(route as Declared, schemas) };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Operator of lead delivery',
      version: '1.0.0',
      description: `${intro} Roles: ${roles.join(', ')}. Lists give \`next\` where there is more; send it as \`after\`.`,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    security: [{ person: [] }],
    paths,
    components: { securitySchemes: { person: { type: 'http', scheme: 'bearer', description: bearer } }, schemas },
  };
}

const intro =
  'Find any lead, see why it is where it is, and recover it. `x-permission` is what an operation needs (one of them, where it is a list); who lacks it gets 403. What belongs to an organization that a person may not see is not there.';
const bearer = 'A token of operator-tokens.json, or a JWT of the configured issuer.';

type Declared = DeclaredRoute & Required<Pick<DeclaredRoute, 'access' | 'shape'>>;

function operation(route: Declared, schemas: Record<string, JsonSchema>): Operation {
  const { access, shape, handler } = route;
  const operationId = nameOf(handler);
  const refer = (suffix: string, schema: z.ZodType, io: 'input' | 'output') => {
    const name = `${operationId[0]?.toUpperCase()}${operationId.slice(1)}${suffix}`;
    schemas[name] = hoisted(schemaOf(schema, io), name, schemas);
    return { $ref: `#/components/schemas/${name}` };
  };
  const parameters = [
    ...fieldsOf(shape.params).map((field) => ({ ...field, in: 'path', required: true })),
    ...fieldsOf(shape.query).map((field) => ({ ...field, in: 'query' })),
  ];
  const body = shape.body && {
    required: !shape.body.safeParse({}).success,
    content: { 'application/json': { schema: refer('Request', shape.body, 'input') } },
  };
  return {
    operationId,
    summary: shape.summary,
    tags: [tagOf(route.path)],
    'x-permission': access,
    'x-roles': rolesFor(access),
    ...(access === 'public' && { security: [] }),
    ...(parameters.length > 0 && { parameters }),
    ...(body !== undefined && { requestBody: body }),
    responses: { [route.status]: success(shape, refer), ...refusals(route) },
  };
}

/** The roles of the people who may call a route. */
function rolesFor(access: Access): Role[] {
  if (access === 'public' || access === 'signed_in') return [...roles];
  const needed = typeof access === 'string' ? [access] : access;
  return roles.filter((role) => needed.some((permission) => rolesWith(permission).includes(role)));
}

function success({ response, produces }: Declared['shape'], refer: (suffix: string, schema: z.ZodType, io: 'output') => object): object {
  const description = 'Done as asked.';
  if (response !== undefined) return { description, content: { 'application/json': { schema: refer('Response', response, 'output') } } };
  return produces === undefined ? { description } : { description, content: { [produces]: { schema: { type: 'string' } } } };
}

/** What every route may answer, and what its input makes possible beside. */
function refusals({ method, access, shape }: Declared): Record<string, object> {
  const input = shape.params !== undefined || shape.query !== undefined || shape.body !== undefined;
  return {
    ...(input && { 400: refused('The request cannot be read.') }),
    ...(access !== 'public' && {
      401: refused('The token is missing, unknown or expired.'),
      403: refused('The permission is missing; `detail` names it.'),
    }),
    ...(input && { 404: refused('There is nothing under this id that the person may see.') }),
    ...(method !== 'get' && {
      409: refused('It does not fit what is there now; `type` and `detail` say why.'),
      413: refused('The body is larger than 64 KiB.'),
      415: refused('The body is not declared as JSON.'),
    }),
    ...(input && { 422: refused('Invalid fields; `errors` names each.') }),
    500: refused('A fault of the service; it is logged.'),
    503: refused('A part that is needed does not answer. Try again.'),
  };
}

const refused = (description: string) => ({
  description,
  content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
});

/** Schemas that a schema refers to become components of their own: a reference is read from the document's root. */
function hoisted(schema: JsonSchema, name: string, schemas: Record<string, JsonSchema>): JsonSchema {
  const { $defs = {}, ...rest } = schema;
  const moved = (one: object): JsonSchema =>
    JSON.parse(JSON.stringify(one).replaceAll('"#/$defs/', `"#/components/schemas/${name}_`)) as JsonSchema;
  for (const [key, one] of Object.entries($defs)) schemas[`${name}_${key}`] = moved(one as object);
  return moved(rest);
}

/** `BatchesController.dryRun` is `batchesDryRun`. */
function nameOf(handler: string): string {
  const [controller = '', method = ''] = handler.split('.');
  const noun = controller.replace(/Controller$/, '');
  return `${noun[0]?.toLowerCase()}${noun.slice(1)}${method[0]?.toUpperCase()}${method.slice(1)}`;
}

/** The area: the first word of the path behind the version. */
const tagOf = (path: string): string =>
  path
    .replace(/^\/v1\//, '')
    .split('/')[0]
    ?.replace(/\.json$|^\//g, '') ?? '';

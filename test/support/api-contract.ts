import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';

interface Parameter {
  name: string;
  in: 'path' | 'query';
  required: boolean;
  schema: object;
}
interface Operation {
  parameters?: Parameter[];
  requestBody?: { content: { 'application/json': { schema: { $ref?: string } } } };
}

export interface Request {
  method?: string;
  url?: string;
  body?: unknown;
}

const file = new URL('../../docs/openapi/operator.json', import.meta.url);
const contract = JSON.parse(readFileSync(file, 'utf8')) as { paths: Record<string, Record<string, Operation>> };

// A query and a path are text: a number that is one is taken for one. Formats are patterns in the contract as well.
const options = { strict: false, allErrors: true, validateFormats: false } as const;
const ofText = new Ajv2020({ ...options, coerceTypes: true }).addSchema(contract, 'api');
const ofJson = new Ajv2020(options).addSchema(contract, 'api');

/** An operation whose path fits; one that is written out goes before one that has a parameter there. */
function operationOf(method: string, path: string) {
  const wanted = path.split('/');
  const fits = Object.keys(contract.paths).filter((template) => {
    const parts = template.split('/');
    return parts.length === wanted.length && parts.every((part, index) => part.startsWith('{') || part === wanted[index]);
  });
  const template = fits.sort((one, other) => one.split('{').length - other.split('{').length)[0] ?? '';
  return { template, operation: contract.paths[template]?.[method.toLowerCase()] };
}

/** What the API would not take of a request as leadctl sends it, by its written contract; empty where it is right. */
export function wrongIn({ method = '', url = '', body }: Request): string[] {
  const { pathname, searchParams } = new URL(url, 'http://operator');
  const { template, operation } = operationOf(method, pathname);
  if (operation === undefined) return [`there is no ${method} ${pathname}`];
  const values = pathname.split('/').map(decodeURIComponent);
  const named = template.split('/').flatMap((part, index) => (part.startsWith('{') ? [[part.slice(1, -1), values[index]] as const] : []));
  const { parameters = [], requestBody } = operation;
  return [
    ...check(ofText, objectOf(parameters, 'path'), Object.fromEntries(named)),
    ...check(ofText, objectOf(parameters, 'query'), Object.fromEntries(searchParams)),
    ...bodyFindings(requestBody?.content['application/json'].schema, body),
  ];
}

/** `{}` is what leadctl sends where an operation takes nothing. */
function bodyFindings(schema: { $ref?: string } | undefined, body: unknown): string[] {
  if (schema === undefined) return body === undefined || JSON.stringify(body) === '{}' ? [] : ['it takes no body'];
  return check(ofJson, schema.$ref === undefined ? schema : { $ref: `api${schema.$ref}` }, body);
}

const objectOf = (parameters: readonly Parameter[], place: Parameter['in']) => {
  const here = parameters.filter((one) => one.in === place);
  return {
    type: 'object',
    properties: Object.fromEntries(here.map(({ name, schema }) => [name, schema])),
    required: here.filter(({ required }) => required).map(({ name }) => name),
    additionalProperties: false,
  };
};

function check(ajv: Ajv2020, schema: object, value: unknown): string[] {
  const valid = ajv.compile(schema);
  return valid(value)
    ? []
    : (valid.errors ?? []).map(({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`);
}

import { z } from 'zod';

/** A JSON Schema (2020-12), as OpenAPI 3.1 takes it. */
export type JsonSchema = z.core.JSONSchema.BaseSchema;

/**
 * What the schema takes (`input`) or gives (`output`) as JSON. Dates travel as ISO 8601. What JSON Schema cannot say, such as what becomes of a value
 * after it was read, is left open.
 */
export function schemaOf(schema: z.ZodType, io: 'input' | 'output'): JsonSchema {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      if (zodSchema._zod.def.type === 'date') Object.assign(jsonSchema, { type: 'string', format: 'date-time' });
    },
  });
  return rest as JsonSchema;
}

/** The fields of an object that a request carries in its path or query. */
export function fieldsOf(schema: z.ZodType | undefined): { name: string; required: boolean; schema: JsonSchema }[] {
  if (schema === undefined) return [];
  const { properties = {}, required = [] } = schemaOf(schema, 'input');
  return Object.entries(properties).map(([name, field]) => ({ name, required: required.includes(name), schema: field as JsonSchema }));
}

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** Order in which attributes are written; others follow by name. */
const attributeOrder = ['type', 'name', 'namespace', 'logicalType', 'doc', 'aliases', 'default', 'fields', 'items', 'values'];

const rank = (key: string): number => {
  const index = attributeOrder.indexOf(key);
  return index === -1 ? attributeOrder.length : index;
};

/**
 * One text for schemas that mean the same: no white space, attributes in a fixed order, primitives in short form, a namespace only where it
 * changes. Registries compare text, and would otherwise give one schema several ids. Defaults, docs and logical types stay.
 */
export function canonicalSchema(schema: string): string {
  return JSON.stringify(canonical(JSON.parse(schema) as Json, ''));
}

/** The same without docs: what decides whether two texts read and write the same bytes. */
export function schemaMeaning(schema: string): string {
  return JSON.stringify(canonical(JSON.parse(schema) as Json, '', ['doc']));
}

function canonical(schema: Json, namespace: string, dropped: readonly string[] = []): Json {
  if (Array.isArray(schema)) return schema.map((branch) => canonical(branch, namespace, dropped));
  if (typeof schema !== 'object' || schema === null) return schema;
  const own = typeof schema.namespace === 'string' ? schema.namespace : namespace;
  const kept = Object.entries(schema)
    .filter(([key]) => !dropped.includes(key) && !(key === 'namespace' && own === namespace))
    .sort(([a], [b]) => rank(a) - rank(b) || (a < b ? -1 : 1))
    .map(([key, value]): [string, Json] => [key, attribute(key, value, { namespace: own, dropped })]);
  if (kept.length === 1 && kept[0]?.[0] === 'type') return kept[0][1];
  return Object.fromEntries(kept);
}

/** Only some attributes hold schemas; a default may look like one and must stay as it is. */
function attribute(key: string, value: Json, context: { namespace: string; dropped: readonly string[] }): Json {
  const inner = (schema: Json) => canonical(schema, context.namespace, context.dropped);
  if (key === 'type' || key === 'items' || key === 'values') return inner(value);
  if (key === 'fields' && Array.isArray(value)) return value.map((field) => canonicalField(field, context));
  return value;
}

/** A field is no schema: `{"name":"a","type":"string"}` keeps its form even where only its type is left. */
function canonicalField(field: Json, context: { namespace: string; dropped: readonly string[] }): Json {
  if (typeof field !== 'object' || field === null || Array.isArray(field)) return field;
  const kept = Object.entries(field)
    .filter(([key]) => !context.dropped.includes(key))
    .sort(([a], [b]) => fieldRank(a) - fieldRank(b) || (a < b ? -1 : 1));
  return Object.fromEntries(kept.map(([key, value]) => [key, attribute(key, value, context)]));
}

const fieldRank = (key: string): number => (key === 'name' ? -1 : rank(key));

import { avroType } from '../codec/avro-type.js';

interface Node {
  [attribute: string]: unknown;
}

/**
 * What our contracts keep to beyond valid Avro, as sentences; empty = fine. An enum breaks old readers with every new symbol, a plain long
 * loses digits in JavaScript, a nullable field without null default cannot be added later, other logical types read differently elsewhere.
 */
export function writingProblems(text: string): string[] {
  try {
    avroType(text);
  } catch (error) {
    return [`is not a valid Avro schema on its own: ${(error as Error).message}`];
  }
  const schema = JSON.parse(text) as Node;
  if (schema.type !== 'record') return ['must be a record'];
  return visit(schema, '');
}

function visit(schema: unknown, path: string): string[] {
  if (Array.isArray(schema)) return schema.flatMap((branch) => visit(branch, path));
  if (schema === 'long') return [`${path}: a long cannot be carried exactly; use string, or timestamp-millis for a time`];
  if (typeof schema !== 'object' || schema === null) return [];
  const node = schema as Node;
  if (node.logicalType !== undefined) return logicalProblems(node, path);
  if (node.type === 'enum') return [`${path}: an enum is a closed set; use string`];
  if (node.type === 'record') return (node.fields as Node[]).flatMap((field) => fieldProblems(field, path));
  return [node.type, node.items, node.values].flatMap((inner) => visit(inner, path));
}

function logicalProblems(node: Node, path: string): string[] {
  if (node.logicalType === 'timestamp-millis' && node.type === 'long') return [];
  return [`${path}: ${String(node.logicalType)} on ${String(node.type)} is not used here; times are timestamp-millis on long`];
}

function fieldProblems(field: Node, parent: string): string[] {
  const path = parent === '' ? String(field.name) : `${parent}.${String(field.name)}`;
  const problems = visit(field.type, path);
  if (Array.isArray(field.type) && field.type.includes('null') && field.default !== null) {
    problems.push(`${path}: a nullable field has null first and as its default`);
  }
  return problems;
}

// Writes libs/contracts/src/generated/events.ts from the newest schema of each subject in schemas/. `--check` fails when the file is stale.
import { execFileSync } from 'node:child_process';
import { existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
const target = join(root, 'libs/contracts/src/generated/events.ts');
const events = [
  { constant: 'LeadSubmittedEvent', type: 'LeadSubmitted', topic: 'leads' },
  { constant: 'LeadAcceptedEvent', type: 'LeadAccepted', topic: 'lead.accepted' },
  { constant: 'LeadResolvedEvent', type: 'LeadResolved', topic: 'lead.resolved' },
];

const versionOf = (file) => Number(/v(\d+)\.avsc$/.exec(file)[1]);

function newest(subject) {
  const files = globSync(`schemas/${subject}/v*.avsc`, { cwd: root }).sort((a, b) => versionOf(b) - versionOf(a));
  return { version: versionOf(files[0]), schema: JSON.parse(readFileSync(join(root, files[0]), 'utf8')) };
}

function tsType(type, records) {
  if (Array.isArray(type)) return type.map((branch) => tsType(branch, records)).join(' | ');
  if (typeof type === 'object') {
    if (type.logicalType === 'timestamp-millis') return 'Date';
    if (type.type === 'record') {
      records.push(type);
      return type.name;
    }
    if (type.type === 'array') return `${wrap(tsType(type.items, records))}[]`;
    if (type.type === 'map') return `Record<string, ${tsType(type.values, records)}>`;
    return tsType(type.type, records);
  }
  return {
    string: 'string',
    int: 'number',
    long: 'number',
    double: 'number',
    float: 'number',
    boolean: 'boolean',
    null: 'null',
    bytes: 'Buffer',
  }[type];
}
const wrap = (type) => (type.includes(' ') ? `(${type})` : type);

function declare(schema) {
  const nested = [];
  const fields = schema.fields.map((field) => {
    const doc = field.doc ? `  /** ${field.doc} */\n` : '';
    return `${doc}  ${field.name}: ${tsType(field.type, nested)};`;
  });
  const doc = schema.doc ? `/** ${schema.doc} */\n` : '';
  return [...nested.map(declare), `${doc}export interface ${schema.name} {\n${fields.join('\n')}\n}`].join('\n\n');
}

const parts = ['// Generated from schemas/ by `npm run generate`. Do not edit.', "import type { EventDescriptor } from '../event.js';"];
for (const event of events) {
  const { version, schema } = newest(`${event.topic}-value`);
  parts.push(declare(schema));
  parts.push(
    `export const ${event.constant}: EventDescriptor<${event.type}> = ${JSON.stringify({ name: event.topic, topic: event.topic, subject: `${event.topic}-value`, schemaVersion: version, schema: JSON.stringify(schema) })} as const;`,
  );
}
const biome = join(root, 'node_modules/.bin/biome');
const text = execFileSync(biome, ['format', `--stdin-file-path=${target}`], { input: `${parts.join('\n\n')}\n`, encoding: 'utf8' });
if (!process.argv.includes('--check')) {
  mkdirSync(join(target, '..'), { recursive: true });
  writeFileSync(target, text);
} else if (!existsSync(target) || readFileSync(target, 'utf8') !== text) {
  console.error('libs/contracts/src/generated/events.ts is stale: run `npm run generate`');
  process.exit(1);
}

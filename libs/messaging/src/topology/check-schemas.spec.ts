import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { checkSchemas } from './check-schemas.js';

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

/** Problems of a folder with the given files, as "file: problem" lines. */
function problemsOf(files: Record<string, object | string>): string[] {
  const folder = mkdtempSync(path.join(tmpdir(), 'schemas-'));
  folders.push(folder);
  for (const [name, schema] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    writeFileSync(path.join(folder, name), typeof schema === 'string' ? schema : JSON.stringify(schema));
  }
  return checkSchemas(folder).map(({ file, problem }) => `${file}: ${problem}`);
}

const record = (...fields: object[]) => ({ type: 'record', name: 'Lead', fields });
const id = { name: 'id', type: 'string' };
const optional = { name: 'utm', type: ['null', 'string'], default: null };
const required = { name: 'city', type: 'string' };

describe('the folder of contracts', () => {
  it('that is in this repository has no problem', () => {
    expect(checkSchemas(path.join(import.meta.dirname, '../../../../schemas'))).toEqual([]);
  });

  it('without a schema is not fine', () => {
    expect(problemsOf({ 'a-value/readme.md': 'x' })).toEqual(['.: no schema found; expected <subject>/v<N>.avsc']);
  });

  it('has no gaps in its versions', () => {
    const [problem] = problemsOf({ 'a-value/v1.avsc': record(id), 'a-value/v3.avsc': record(id) });
    expect(problem).toContain('a-value/v3.avsc: is version 3 where 2 was expected');
  });
});

describe('compatibility', () => {
  it('accepts a new nullable field with a null default everywhere', () => {
    expect(problemsOf({ 'lead.accepted-value/v1.avsc': record(id), 'lead.accepted-value/v2.avsc': record(id, optional) })).toEqual([]);
  });

  it('compares with every earlier version, not only the last', () => {
    const problems = problemsOf({
      'lead.accepted-value/v1.avsc': record(id),
      'lead.accepted-value/v2.avsc': record(id, { ...required, default: '' }),
      'lead.accepted-value/v3.avsc': record(id, required),
    });
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(/^lead.accepted-value\/v3.avsc: v3 cannot read records of v1/);
  });

  it('lets published events lose no field without a default, since old readers still ask for it', () => {
    const files = (subject: string) => ({ [`${subject}/v1.avsc`]: record(id, required), [`${subject}/v2.avsc`]: record(id) });
    expect(problemsOf(files('lead.accepted-value'))[0]).toContain('v1 cannot read records of v2');
    expect(problemsOf(files('leads-value'))).toEqual([]);
    expect(problemsOf(files('leads.partner-value'))).toEqual([]);
  });

  it('finds a changed type, a narrowed union and another record name', () => {
    const change = (from: object, to: object) => problemsOf({ 'leads-value/v1.avsc': from, 'leads-value/v2.avsc': to });
    expect(change(record({ ...id, type: 'int' }), record(id))[0]).toContain('v2 cannot read records of v1');
    expect(change(record(optional), record({ name: 'utm', type: 'string' }))[0]).toContain('v2 cannot read records of v1');
    expect(change(record(id), { ...record(id), name: 'Other' })[0]).toContain('v2 cannot read records of v1');
  });
});

describe('rules of writing', () => {
  const problemOf = (schema: object | string) => problemsOf({ 'leads-value/v1.avsc': schema })[0];

  it.each([
    ['an enum', record({ name: 'a', type: { type: 'enum', name: 'E', symbols: ['X'] } }), 'a: an enum is a closed set'],
    ['a plain long', record({ name: 'a', type: ['null', 'long'], default: null }), 'a: a long cannot be carried exactly'],
    ['a long inside a map', record({ name: 'a', type: { type: 'map', values: 'long' } }), 'a: a long cannot'],
    ['a nullable field without null default', record({ name: 'a', type: ['null', 'string'] }), 'a: a nullable field has null first'],
    ['another logical type', record({ name: 'a', type: { type: 'long', logicalType: 'timestamp-micros' } }), 'a: timestamp-micros on long'],
    [
      'a fault deep inside',
      record({ name: 'a', type: { type: 'array', items: { ...record({ name: 'b', type: ['null', 'int'] }), name: 'Inner' } } }),
      'a.b: a nullable field',
    ],
    ['no record', 'not json', 'is not a valid Avro schema'],
    ['something else than a record', '"string"', 'must be a record'],
    ['a reference to another subject', record({ name: 'a', type: 'other.Address' }), 'undefined type name: other.Address'],
  ])('refuse %s', (_name, schema, problem) => {
    expect(problemOf(schema)).toContain(problem);
  });

  it('accept times as timestamp-millis', () => {
    expect(
      problemOf(record({ name: 'a', type: ['null', { type: 'long', logicalType: 'timestamp-millis' }], default: null })),
    ).toBeUndefined();
  });
});

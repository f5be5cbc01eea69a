import { describe, expect, it } from '@jest/globals';
import { LeadAcceptedEvent, LeadResolvedEvent, LeadSubmittedEvent } from '#contracts';
import { canonicalSchema, schemaMeaning } from './canonical-schema.js';

describe('the canonical form', () => {
  it('is one text for long forms, repeated namespaces, other orders and white space', () => {
    const short =
      '{"type":"record","name":"A","namespace":"n","fields":[{"name":"x","type":"string"},{"name":"y","type":["null","int"],"default":null}]}';
    const long = `{
      "fields": [
        { "type": { "type": "string" }, "name": "x" },
        { "default": null, "name": "y", "type": [{ "type": "null" }, { "type": "int" }] }
      ],
      "namespace": "n", "name": "A", "type": "record"
    }`;
    expect(canonicalSchema(long)).toBe(short);
    expect(canonicalSchema(short)).toBe(short);
    const nested = (inner: object) =>
      canonicalSchema(
        JSON.stringify({
          type: 'record',
          name: 'A',
          namespace: 'n',
          fields: [{ name: 'x', type: { type: 'record', name: 'B', fields: [], ...inner } }],
        }),
      );
    expect(nested({ namespace: 'n' })).toBe(nested({}));
    expect(nested({ namespace: 'm' })).not.toBe(nested({}));
  });

  it('keeps what readers need: defaults that look like schemas, logical types, docs, aliases', () => {
    const text =
      '{"type":"record","name":"A","doc":"d","fields":[{"name":"m","type":{"type":"map","values":"string"},"doc":"e","aliases":["o"],"default":{"type":"string"}},{"name":"t","type":{"type":"long","logicalType":"timestamp-millis"}}]}';
    expect(JSON.parse(canonicalSchema(text))).toEqual(JSON.parse(text));
  });

  it('changes no meaning of our contracts and is stable', () => {
    for (const { schema } of [LeadAcceptedEvent, LeadResolvedEvent, LeadSubmittedEvent]) {
      expect(JSON.parse(canonicalSchema(schema))).toEqual(JSON.parse(schema));
      expect(canonicalSchema(canonicalSchema(schema))).toBe(canonicalSchema(schema));
    }
  });

  it('means the same with other docs and not with another default', () => {
    const schema = (doc: string, fallback: string) =>
      JSON.stringify({ type: 'record', name: 'A', fields: [{ name: 'x', type: 'string', doc, default: fallback }] });
    expect(schemaMeaning(schema('a', 'd'))).toBe(schemaMeaning(schema('b', 'd')));
    expect(schemaMeaning(schema('a', 'd'))).not.toBe(schemaMeaning(schema('a', 'e')));
  });
});

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { openApi } from './openapi.js';

const file = join(import.meta.dirname, '../../../../docs/openapi/intake.json');
const generated: unknown = JSON.parse(JSON.stringify(openApi()));

describe('the OpenAPI document', () => {
  it('is checked in as it is generated (UPDATE_OPENAPI=1 writes it, `npm run format` lays it out)', () => {
    if (process.env.UPDATE_OPENAPI === '1') writeFileSync(file, JSON.stringify(generated, null, 2));
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(generated);
  });

  it('describes the smallest body as valid and a misspelt one as invalid', () => {
    const { Lead } = (openApi() as { components: { schemas: Record<string, object> } }).components.schemas;
    const validate = new Ajv2020({ strict: false, validateFormats: false }).compile(Lead ?? {});
    const body = { source_event_id: 'web-1001', contact: { email: 'ada@example.test' }, consent: { given: true } };
    expect(validate(body)).toBe(true);
    expect(validate({ ...body, mesage: 'x' })).toBe(false);
    expect(validate({ ...body, consent: undefined })).toBe(false);
  });
});

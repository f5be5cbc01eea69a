import { z } from 'zod';
import { consentBody } from '../consent/consent-body.js';
import { journey } from '../journey/journey.js';
import { leadBody } from '../submission/lead-body.js';

const accepted = z
  .object({
    event_id: z.uuid().meta({ description: 'Made at first acceptance, immutable; the id of the lead everywhere.' }),
    lead_ref: z.string().meta({ description: 'Short reference of the lead for people.' }),
    status: z.literal('accepted'),
  })
  .meta({ title: 'Accepted' });

const problemBody = z
  .object({
    type: z.string().meta({ description: 'urn:lead-delivery:problem:<slug>' }),
    title: z.string(),
    status: z.int(),
    detail: z.string().optional(),
    event_id: z.string().meta({ description: 'On a conflict: the lead that this id was first used for.' }).optional(),
    errors: z
      .array(z.object({ field: z.string(), problem: z.string(), fix: z.string() }))
      .meta({ description: 'Every wrong field with what to do about it. Values are never repeated.' })
      .optional(),
  })
  .meta({ title: 'Problem' });

const schemaOf = (schema: z.ZodType, io: 'input' | 'output' = 'output'): object => {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io });
  return rest;
};

const reference = (name: string) => ({ $ref: `#/components/schemas/${name}` });
const problemResponse = (description: string, headers?: object) => ({
  description,
  ...(headers && { headers }),
  content: { 'application/problem+json': { schema: reference('Problem') } },
});
const header = (description: string) => ({ description, schema: { type: 'string' } });
const retryAfter = { 'Retry-After': header('Seconds to wait.') };

const refusedEverywhere = {
  '401': problemResponse('No valid source key.'),
  '429': problemResponse('Too many requests of this source.', retryAfter),
  '431': problemResponse('The headers are too large.'),
  '500': problemResponse('A fault of the service; it is logged. Send the same request again.', retryAfter),
  '503': problemResponse('Cannot be saved or read right now; nothing is half-saved.', retryAfter),
};

const journeyResponses = {
  '200': { description: 'Where the lead is.', content: { 'application/json': { schema: reference('Journey') } } },
  '400': problemResponse('The query or the path is not valid.'),
  '404': problemResponse("The key's source has no such lead."),
  ...refusedEverywhere,
};

const submit = {
  operationId: 'submitLead',
  summary: 'Hand in a lead',
  description:
    'Answered within 3 s. 202 means saved: the lead will be delivered, whatever fails later. Send the same id again after any other answer or none; the first content under an id counts. A repeat that differs in consent alone is other content, too (422): to withdraw consent, use POST /v1/leads/{event_id}/consent.',
  parameters: [
    {
      name: 'Idempotency-Key',
      in: 'header',
      required: false,
      description: 'The submission id where the body has no source_event_id. Sent both, they must be equal.',
      schema: { type: 'string' },
    },
    { name: 'traceparent', in: 'header', required: false, description: 'W3C trace context of the caller.', schema: { type: 'string' } },
  ],
  requestBody: { required: true, content: { 'application/json': { schema: reference('Lead') } } },
  responses: {
    '202': {
      description: 'Saved now, or saved before with the same content.',
      headers: {
        Location: header('Where to ask for the journey of the lead.'),
        'Idempotency-Replayed': header('true: this id and content were accepted before, and this is the answer given then.'),
        traceresponse: header('W3C trace context of this request.'),
      },
      content: { 'application/json': { schema: reference('Accepted') } },
    },
    '400': problemResponse('Not JSON, not UTF-8, with a field more than once, or without a submission id.'),
    '408': problemResponse('The request did not arrive in time.'),
    '413': problemResponse('The body is larger than the configured limit.', retryAfter),
    '415': problemResponse('The body is not declared as JSON, or has a Content-Encoding.'),
    '422': problemResponse(
      'Invalid fields, or (type …:idempotency-conflict) an id that was used for other content; where consent alone is taken back, the fix names the path for that.',
    ),
    ...refusedEverywhere,
  },
};

const withdrawConsent = {
  operationId: 'withdrawConsent',
  summary: 'Say that the person withdrew consent',
  description:
    'From then on nothing of the lead goes to a destination that requires consent, also where it was waiting to be sent. What was sent before stays there. To say it again changes nothing.',
  parameters: [{ name: 'event_id', in: 'path', required: true, schema: { type: 'string', format: 'uuid' } }],
  requestBody: { required: true, content: { 'application/json': { schema: reference('ConsentWithdrawal') } } },
  responses: {
    '200': {
      description: 'It is noted now, or was before.',
      content: { 'application/json': { schema: reference('Consent') } },
    },
    '400': problemResponse('Not JSON, not UTF-8, or with a field more than once.'),
    '404': problemResponse("The key's source has no such lead."),
    '408': problemResponse('The request did not arrive in time.'),
    '413': problemResponse('The body is larger than the configured limit.', retryAfter),
    '415': problemResponse('The body is not declared as JSON, or has a Content-Encoding.'),
    '422': problemResponse('Invalid fields; consent cannot be given here.'),
    ...refusedEverywhere,
  },
};

const consent = z.object({ event_id: z.uuid(), consent: z.object({ given: z.literal(false) }) }).meta({ title: 'Consent' });

/** The HTTP contract, from the schemas that requests are checked with. */
export function openApi(): object {
  return {
    openapi: '3.1.0',
    info: { title: 'Lead intake', version: '1.0.0', license: { name: 'Apache-2.0', identifier: 'Apache-2.0' } },
    security: [{ sourceKey: [] }],
    paths: {
      '/v1/leads': {
        post: submit,
        get: {
          operationId: 'findLead',
          summary: "A lead's journey by the source's own id",
          parameters: [{ name: 'source_event_id', in: 'query', required: true, schema: { type: 'string' } }],
          responses: journeyResponses,
        },
      },
      '/v1/leads/{event_id}': {
        get: {
          operationId: 'getLead',
          summary: "A lead's journey",
          parameters: [{ name: 'event_id', in: 'path', required: true, schema: { type: 'string', format: 'uuid' } }],
          responses: journeyResponses,
        },
      },
      '/v1/leads/{event_id}/consent': { post: withdrawConsent },
    },
    components: {
      securitySchemes: { sourceKey: { type: 'http', scheme: 'bearer', description: 'The key of a source; two are valid at a time.' } },
      schemas: {
        Lead: schemaOf(leadBody, 'input'),
        Accepted: schemaOf(accepted),
        Journey: schemaOf(journey),
        ConsentWithdrawal: schemaOf(consentBody, 'input'),
        Consent: schemaOf(consent),
        Problem: schemaOf(problemBody),
      },
    },
  };
}

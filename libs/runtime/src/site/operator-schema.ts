import { z } from 'zod';
import { duration, httpUrl, refuse } from './schema-parts.js';
import { personRoles } from './site.js';

const claim = z.string().regex(/^[^\s.]+(\.[^\s.]+)*$/);
/** Tokens of an issuer are as good as the road by which its keys come. Kept as it is written: issuers are compared letter by letter. */
const issuerUrl = z
  .string()
  .regex(/^https?:\/\/[^\s{}]+$/)
  .refine(
    (text) => URL.canParse(text) && (text.startsWith('https://') || ['127.0.0.1', '[::1]', 'localhost'].includes(new URL(text).hostname)),
    refuse('is not an https URL', 'Write https://host/path; plain http is for this machine alone'),
  );

const oidc = z.strictObject({
  issuer: issuerUrl.describe('Exactly as the tokens name it in `iss`.'),
  audience: z.union([z.string().min(1), z.array(z.string().min(1)).min(1)]).describe('One of these must stand in `aud`.'),
  client_id: z.string().min(1).optional().describe('With which the console signs people in; absent: tokens are pasted.'),
  jwks_url: issuerUrl.optional().describe("Where the issuer's keys are; absent: its discovery document says so."),
  subject_claim: claim.default('sub'),
  name_claim: claim.default('name'),
  roles_claim: claim.default('roles').describe('A list of roles; a dot leads into an object: realm_access.roles.'),
  organizations_claim: claim.default('organizations').describe('A list of organizations, or "*" for all; absent in a token: none.'),
  role_map: z
    .record(z.string().min(1), z.enum(personRoles))
    .describe("The issuer's role, and the role here. What is not named here counts for nothing."),
});

/** Who may use the surface of the operator. */
export const operator = z.strictObject({
  console_url: httpUrl.optional().describe('Where people open the console; it stands in messages. Absent: the address it listens at.'),
  notice_window: duration.prefault('5m').describe('An owner is told of new dead letters at once, then once in this time at most.'),
  oidc: oidc.optional().describe('Issuer of the tokens (JWT) of people; beside it the tokens of operator-tokens.json are valid.'),
  policies: z
    .strictObject({
      single_operator: z
        .strictObject({ max: z.number().int().min(1).max(50).default(50) })
        .optional()
        .describe('Where one person works alone: a batch up to this size needs no second person. Absent: every batch does.'),
    })
    .prefault({}),
});

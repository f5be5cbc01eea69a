import { Controller, Get, Inject, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { OperatorConfig } from '#runtime';
import type { OpenArea } from '../area.js';
import type { SignInNow } from '../people/oidc-discovery.js';
import { permissions, roles } from '../people/permissions.js';
import { asker } from './asked-by.js';
import { Permit, whyNot } from './permit.js';

/** Under which the site's part about people is injected. */
const operatorConfig = Symbol('operator config');
/** Under which is injected how people sign in. */
const signInNow = Symbol('sign in');

const permission = z.enum(permissions);
const me = z.object({
  subject: z.string(),
  name: z.string(),
  roles: z.array(z.enum(roles)),
  permissions: z.array(permission),
  organizations: z.union([z.literal('*'), z.array(z.string())]),
  single_operator_policy: z
    .object({ max: z.number().int() })
    .optional()
    .describe('One person alone may have this many items approved, under way or within an hour.'),
  refused: z.partialRecord(permission, z.string()).describe('What the person may not do, and why.'),
});

const consoleConfig = z.object({
  oidc: z
    .object({
      issuer: z.string(),
      client_id: z.string(),
      authorization_endpoint: z.string().optional().describe('Absent: the issuer does not answer now.'),
      token_endpoint: z.string().optional(),
    })
    .optional()
    .describe('Absent: tokens are pasted.'),
});

/** What the console asks before and after somebody has signed in. */
@Controller()
class MeController {
  constructor(
    @Inject(operatorConfig) private readonly operator: OperatorConfig,
    @Inject(signInNow) private readonly signIn: SignInNow,
  ) {}

  @Get('v1/me')
  @Permit('signed_in', { summary: 'Who the token stands for and what that person may do', response: me })
  me(@Req() request: FastifyRequest): z.infer<typeof me> {
    const { subject, name, roles: held, permissions: allowed, organizations } = asker(request);
    const { singleOperator } = this.operator.policies;
    const refused = permissions.filter((one) => !allowed.includes(one)).map((one) => [one, whyNot(one)] as const);
    return {
      subject,
      name,
      roles: [...held],
      permissions: [...allowed],
      organizations: organizations === '*' ? '*' : [...organizations],
      ...(singleOperator !== undefined && { single_operator_policy: singleOperator }),
      refused: Object.fromEntries(refused),
    };
  }

  @Get('console-config.json')
  @Permit('public', { summary: 'How people sign in', response: consoleConfig })
  async config(): Promise<z.infer<typeof consoleConfig>> {
    const oidc = await this.signIn();
    return oidc === undefined ? {} : { oidc };
  }
}

/** Who people are to this service. */
export const peopleArea: OpenArea = ({ site, signIn = () => Promise.resolve(undefined) }) => ({
  controllers: [MeController],
  providers: [
    { provide: operatorConfig, useValue: site.operator },
    { provide: signInNow, useValue: signIn },
  ],
});

import { z } from 'zod';

/** A refusal in our own words: zod's would quote the value. */
export const refuse = (problem: string, fix: string) => ({ params: { problem, fix } });
export const slug = z.string().regex(/^[a-z0-9][a-z0-9._-]{0,62}$/);
/** Part of topic and group names, so no dots. */
export const destinationName = z.string().regex(/^[a-z0-9][a-z0-9-]{0,47}$/);
/** Without its trailing slash. */
export const httpUrl = z
  .string()
  .regex(/^https?:\/\/[^\s{}]+$/)
  .refine((text) => URL.canParse(text), refuse('is not a URL', 'Write it as https://host/path'))
  .transform((text) => text.replace(/\/+$/, ''));
export const path = z.string().regex(/^\/[^\s]*$/);

const unitMs = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const durationPattern = /^([0-9]{1,9})(ms|s|m|h|d)$/;

/** A duration such as `10s`, `15m`, `4h` or `7d`; milliseconds after parsing. */
export const duration = z
  .string()
  .regex(durationPattern)
  .transform((text) => {
    const [, amount, unit] = durationPattern.exec(text) ?? [];
    return Number(amount) * unitMs[unit as keyof typeof unitMs];
  })
  .describe('A whole number and a unit: ms, s, m, h or d.');

/** Where a secret is kept: a file relative to the secrets folder, or an environment variable. */
export const secretRef = z.union([
  z.strictObject({ file: z.string().min(1).describe('Relative to LD_SECRETS_DIR.') }),
  z.strictObject({ env: z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/) }),
]);

import type { z } from 'zod';
import type { Answer, Call } from '../http/call.js';
import type { Rule } from './rule.js';
import type { RuleBook } from './rule-book.js';

/** `GET`, `POST` and `DELETE /control`: read, add, clear (`?name=` clears the rules of that name); `GET /control/hits`: how often each named rule was carried out. A rule with an unknown or malformed field is a 400 that names it. */
export function control(call: Call, rules: RuleBook, schema: z.ZodType<Rule>): Answer {
  if (call.path === '/control/hits') return { status: 200, body: rules.hits() };
  if (call.method === 'GET') return { status: 200, body: rules.list() };
  if (call.method === 'DELETE') {
    rules.clear(call.query.get('name') ?? undefined);
    return { status: 200, body: rules.list() };
  }
  if (call.method !== 'POST') return { status: 405, body: { error: 'use GET, POST or DELETE' } };
  let given: unknown;
  try {
    given = JSON.parse(call.body);
  } catch {
    return { status: 400, body: { error: 'a rule is a JSON object' } };
  }
  const parsed = schema.safeParse(given);
  if (!parsed.success) {
    const errors = parsed.error.issues.map((issue) => `${issue.path.join('.') || 'rule'}: ${issue.message}`);
    return { status: 400, body: { error: 'not a rule', errors } };
  }
  rules.add(parsed.data);
  return { status: 201, body: rules.list() };
}

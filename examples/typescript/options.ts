import { parseArgs } from 'node:util';

/**
 * Command-line options as text. `defaults` names every option and what an absent one is; one that is still undefined is required: all that are
 * missing are named at once, and the program ends with 2.
 */
export function options<Name extends string>(defaults: Record<Name, string | undefined>): Record<Name, string> {
  const names = Object.keys(defaults) as Name[];
  const { values } = parseArgs({ options: Object.fromEntries(names.map((name) => [name, { type: 'string' as const }])) });
  const all = { ...defaults, ...values } as Record<Name, string | undefined>;
  const missing = names.filter((name) => all[name] === undefined);
  if (missing.length > 0) {
    console.error(missing.map((name) => `--${name} is missing`).join('\n'));
    process.exit(2);
  }
  return all as Record<Name, string>;
}

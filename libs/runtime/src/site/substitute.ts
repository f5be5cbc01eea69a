import type { ConfigProblem } from '../config/config-error.js';

const placeholder = /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g;

/**
 * Replaces `${NAME}` and `${NAME:-default}` in every text of a parsed document. A variable that is unset or empty takes the default;
 * without one it is a problem at that place. Keys are left alone.
 */
export function substitute(value: unknown, env: NodeJS.ProcessEnv): { value: unknown; problems: ConfigProblem[] } {
  const problems: ConfigProblem[] = [];
  const walk = (node: unknown, path: string): unknown => {
    if (typeof node === 'string') return fill(node, path);
    if (Array.isArray(node)) return node.map((item, index) => walk(item, `${path}[${index}]`));
    if (typeof node !== 'object' || node === null) return node;
    return Object.fromEntries(Object.entries(node).map(([key, item]) => [key, walk(item, path === '' ? key : `${path}.${key}`)]));
  };
  const fill = (text: string, path: string): string =>
    text.replaceAll(placeholder, (_, name: string, fallback?: string) => {
      const found = env[name];
      if (found !== undefined && found !== '') return found;
      if (fallback !== undefined) return fallback;
      problems.push({ path, problem: `names the variable ${name}, which is not set`, fix: `Set ${name}, or write \${${name}:-default}` });
      return '';
    });
  return { value: walk(value, ''), problems };
}

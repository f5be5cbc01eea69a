import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import Ajv from 'ajv';
import { parse } from 'yaml';

const require = createRequire(import.meta.url);

export const composePath = join(import.meta.dirname, '../../docker-compose.yml');

export interface ComposeService {
  image?: string;
  build?: { context: string; dockerfile: string; args: { APP: string } };
  entrypoint?: string[];
  environment?: Record<string, unknown>;
  ports?: string[];
  volumes?: string[];
  depends_on?: Record<string, unknown>;
}

export interface ComposeFile {
  services: Record<string, ComposeService>;
  volumes: Record<string, unknown>;
  configs: Record<string, { file?: string; content?: string }>;
}

/** The file with its anchors resolved, and `${NAME:-default}` replaced by the default as Compose does in an empty environment. */
export function readCompose(text = readFileSync(composePath, 'utf8')): ComposeFile {
  return parse(
    text.replace(/\$\{\w+:-([^}]*)\}/g, (_, fallback: string) => fallback),
    { merge: true },
  ) as ComposeFile;
}

export interface Verdict {
  validator: 'docker compose config' | 'the Compose JSON Schema';
  problems: string[];
}

/** What is wrong with a Compose file, said by Docker's own plugin where it exists, else by the Compose specification's JSON Schema. */
export function validateCompose(text: string): Verdict {
  const hasPlugin = spawnSync('docker', ['compose', 'version']).status === 0;
  if (!hasPlugin) return { validator: 'the Compose JSON Schema', problems: schemaProblems(text) };
  const run = spawnSync('docker', ['compose', '--file', '-', '--project-directory', join(composePath, '..'), 'config', '--quiet'], {
    input: text,
    encoding: 'utf8',
  });
  return { validator: 'docker compose config', problems: run.status === 0 ? [] : [run.stderr] };
}

function schemaProblems(text: string): string[] {
  // dclint keeps the specification's schema beside its code without exporting it; it names its dialect, draft 7, by an address unknown to ajv.
  const dclint = dirname(require.resolve('dclint/package.json'));
  const { $schema: _, ...schema } = JSON.parse(readFileSync(join(dclint, 'schemas/compose.schema.json'), 'utf8')) as Record<
    string,
    unknown
  >;
  const validate = new Ajv.default({ allErrors: true, strict: false }).compile(schema);
  if (validate(parse(text, { merge: true }))) return [];
  return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
}

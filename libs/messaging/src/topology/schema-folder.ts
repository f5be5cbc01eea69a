import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { Compatibility } from '../codec/registry-client.js';

/** One file schemas/<subject>/v<N>.avsc. */
export interface SchemaFile {
  subject: string;
  version: number;
  /** Path relative to the folder, for messages. */
  file: string;
  text: string;
}

/** Every schema by subject and version. Files of other names are left out here and named by `checkSchemas`. */
export function readSchemas(dir: string): SchemaFile[] {
  const subjects = readdirSync(dir, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const files = subjects.flatMap(({ name: subject }) =>
    readdirSync(path.join(dir, subject)).map((file) => ({ subject, file, version: versionOf(file) })),
  );
  return files
    .filter(({ version }) => version !== undefined)
    .map(({ subject, file, version }) => ({
      subject,
      version: version as number,
      file: path.join(subject, file),
      text: readFileSync(path.join(dir, subject, file), 'utf8'),
    }))
    .sort((a, b) => a.subject.localeCompare(b.subject) || a.version - b.version);
}

function versionOf(file: string): number | undefined {
  const match = /^v([1-9]\d*)\.avsc$/.exec(file);
  return match === null ? undefined : Number(match[1]);
}

/**
 * Readers and writers of what we publish are upgraded in any order. What upstream systems hand in is read by us alone, and we go first.
 */
export function compatibilityOf(subject: string): Compatibility {
  return /^leads(\.|-value$)/.test(subject) ? 'BACKWARD_TRANSITIVE' : 'FULL_TRANSITIVE';
}

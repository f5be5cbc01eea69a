import { avroType } from '../codec/avro-type.js';
import { compatibilityOf, readSchemas, type SchemaFile } from './schema-folder.js';
import { writingProblems } from './schema-rules.js';

export interface SchemaProblem {
  /** Path under the folder. */
  file: string;
  problem: string;
}

/**
 * Checks the folder alone, without a registry: rules of writing, gaps in the version numbers, and compatibility of every version with every
 * earlier one. Empty = fine. @throws when the folder cannot be read.
 */
export function checkSchemas(dir: string): SchemaProblem[] {
  const files = readSchemas(dir);
  if (files.length === 0) return [{ file: '.', problem: 'no schema found; expected <subject>/v<N>.avsc' }];
  return [...new Set(files.map(({ subject }) => subject))].flatMap((subject) =>
    subjectProblems(files.filter((file) => file.subject === subject)),
  );
}

/** `versions` in ascending order. */
function subjectProblems(versions: readonly SchemaFile[]): SchemaProblem[] {
  return versions.flatMap((schema, index) => {
    const { file, version } = schema;
    const problems = writingProblems(schema.text);
    if (version !== index + 1) problems.push(`is version ${version} where ${index + 1} was expected: numbers have no gap`);
    // A schema that does not compile cannot be compared either.
    if (problems.length === 0) problems.push(...versions.slice(0, index).flatMap((earlier) => incompatibilities(schema, earlier)));
    return problems.map((problem) => ({ file, problem }));
  });
}

function incompatibilities(next: SchemaFile, earlier: SchemaFile): string[] {
  const full = compatibilityOf(next.subject) === 'FULL_TRANSITIVE';
  const forward = full ? unreadable(earlier, next) : undefined;
  return [unreadable(next, earlier), forward].filter((problem) => problem !== undefined);
}

/** Why records of `writer` cannot be read as `reader`. */
function unreadable(reader: SchemaFile, writer: SchemaFile): string | undefined {
  try {
    avroType(reader.text).createResolver(avroType(writer.text));
    return undefined;
  } catch (error) {
    return `v${reader.version} cannot read records of v${writer.version}: ${(error as Error).message}`;
  }
}

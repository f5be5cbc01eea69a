import { createHash } from 'node:crypto';
import { cpSync, existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ProgramRun, runProgram } from './run-program.js';

const root = join(import.meta.dirname, '../..');

export const languages = ['python', 'java', 'typescript'] as const;
export type Language = (typeof languages)[number];
export const codecs = ['none', 'gzip', 'snappy', 'lz4', 'zstd'] as const;

/** What `produce-lead` prints. */
export interface Landed {
  source_event_id: string;
  topic: string;
  partition: number;
  offset: number;
  schema_id: number;
  codec: string;
}

/** What `read-accepted` prints for each event. */
export interface ReadEvent {
  writer_schema_id: number;
  event: Record<string, unknown> & { event_id: string };
}

/** How one language builds its example and starts one of its two programs; paths are relative to its own folder. */
interface Recipe {
  install: readonly (readonly [string, ...string[]])[];
  produce: readonly [string, ...string[]];
  read: readonly [string, ...string[]];
}

const java = ['java', '-XX:TieredStopAtLevel=1', '-cp', 'target/classes:target/lib/*'] as const;
const recipes: Record<Language, Recipe> = {
  python: {
    install: [
      ['python3', '-m', 'venv', '.venv'],
      ['.venv/bin/pip', 'install', '--quiet', '--requirement', 'requirements.txt'],
    ],
    produce: ['.venv/bin/python', 'produce_lead.py'],
    read: ['.venv/bin/python', 'read_accepted.py'],
  },
  java: {
    install: [['mvn', '--quiet', '--batch-mode', 'compile', 'dependency:copy-dependencies']],
    produce: [...java, 'example.ProduceLead'],
    read: [...java, 'example.ReadAccepted'],
  },
  typescript: {
    install: [['npm', 'ci', '--prefix', '.', '--no-audit', '--no-fund']],
    produce: [process.execPath, 'produce-lead.ts'],
    read: [process.execPath, 'read-accepted.ts'],
  },
};

/** One example as a stranger would use it: a copy of examples/ and schemas/ outside the source tree, with nothing but its own packages. */
export class ForeignClient {
  private constructor(
    readonly language: Language,
    private readonly folder: string,
    private readonly env: Record<string, string>,
  ) {}

  /** Installs the example's own packages, once per content of examples/ and schemas/. Takes up to a minute the first time. */
  static async install(language: Language, env: Record<string, string>): Promise<ForeignClient> {
    const home = join(root, '.cache/foreign-clients', `${language}-${contentHash(language)}`);
    const client = new ForeignClient(language, join(home, 'examples', language), env);
    if (existsSync(join(home, 'installed'))) return client;
    rmSync(home, { recursive: true, force: true });
    mkdirSync(home, { recursive: true });
    cpSync(join(root, 'schemas'), join(home, 'schemas'), { recursive: true });
    for (const file of exampleFiles(language)) cpSync(join(root, file), join(home, file));
    for (const command of recipes[language].install) await client.run(command, [], 300_000);
    writeFileSync(join(home, 'installed'), '');
    return client;
  }

  /** Hands the lead in `leadFile` in, under its own id. */
  async produce({ codec, sourceEventId, leadFile }: { codec: string; sourceEventId: string; leadFile: string }): Promise<Landed> {
    const out = await this.run(recipes[this.language].produce, ['--codec', codec, '--lead', leadFile, '--source-event-id', sourceEventId]);
    return JSON.parse(out) as Landed;
  }

  /** Reads distinct events from the first offset on until there are `count`, through the reader's schema in `schemaFile` or the example's own. */
  async read({ count, group, schemaFile }: { count: number; group: string; schemaFile?: string }): Promise<ReadEvent[]> {
    const schema = schemaFile === undefined ? [] : ['--schema', schemaFile];
    const out = await this.run(recipes[this.language].read, ['--count', String(count), '--group', group, '--timeout', '60', ...schema]);
    return lines(out).map((line) => JSON.parse(line) as ReadEvent);
  }

  private run([command, ...first]: readonly [string, ...string[]], rest: readonly string[], timeoutMs?: number): Promise<string> {
    const run: ProgramRun = { command, args: [...first, ...rest], cwd: this.folder, env: this.env, timeoutMs };
    return runProgram(run);
  }
}

const lines = (text: string): string[] => text.split('\n').filter((line) => line !== '');

function exampleFiles(language: Language): string[] {
  const built = /(^|\/)(node_modules|target|\.venv|__pycache__)(\/|$)/;
  const files = globSync([`examples/${language}/**/*`, `examples/${language}/.npmrc`, 'examples/lead.json'], {
    cwd: root,
    withFileTypes: true,
  });
  const paths = files.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1));
  return paths.filter((path) => !built.test(path)).sort();
}

function contentHash(language: Language): string {
  const hash = createHash('sha256');
  for (const file of [...exampleFiles(language), ...globSync('schemas/*/*.avsc', { cwd: root }).sort()]) {
    hash.update(`${file}\n`).update(readFileSync(join(root, file)));
  }
  return hash.digest('hex').slice(0, 12);
}

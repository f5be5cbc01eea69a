import { canonicalSchema } from '../codec/canonical-schema.js';
import { registryClient } from '../codec/registry-client.js';
import type { TopologyProblem } from './expected.js';
import { compatibilityOf, readSchemas } from './schema-folder.js';

const timeoutMs = 5_000;

/** What the registry lacks of the schemas in a folder, and where it would let in what does not fit. @throws RegistryUnavailable. */
export async function registeredSchemas({ registryUrl, dir }: { registryUrl: string; dir: string }): Promise<TopologyProblem[]> {
  const registry = registryClient({ url: registryUrl, timeoutMs });
  const files = readSchemas(dir);
  const problems: TopologyProblem[] = [];
  for (const { subject, version, text } of files) {
    const known = await registry.lookUp(subject, canonicalSchema(text));
    if (known === undefined)
      problems.push({ name: `${subject} v${version}`, problem: 'is not registered', fix: 'Run `leadctl schemas apply`' });
  }
  for (const subject of new Set(files.map((file) => file.subject))) {
    const [level, wanted] = [await registry.compatibility(subject), compatibilityOf(subject)];
    if (level === wanted) continue;
    const problem = `has compatibility ${level ?? 'of the registry as a whole'} instead of ${wanted}`;
    problems.push({ name: subject, problem, fix: 'Run `leadctl schemas apply`' });
  }
  return problems;
}

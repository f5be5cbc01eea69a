import { type Endpoints, runPaths } from '#testkit';
import { services } from './ports.js';
import { table } from './say.js';

/** What a newcomer looks for once an instance runs: one line per URL, command or folder, as a table. Shows no secret. */
export function whereThingsAre(endpoints: Endpoints, runDir: string): string[] {
  const { secrets, logs, endpoints: file } = runPaths(runDir);
  return table([
    ['intake', `${endpoints.intake}/v1/leads (OpenAPI: ${endpoints.intake}/openapi.json)`],
    ['CRM and chat', new URL('/', endpoints.sandboxCrm).href],
    ['operator', `${endpoints.operator}/v1 (dead letters and batches; keys: ${secrets}/operator-keys.json)`],
    ['is all there?', `npm run leadctl -- balance --run-dir ${runDir}`],
    ['schema registry', endpoints.schemaRegistry],
    ['Kafka', endpoints.kafkaBrokers],
    ['PostgreSQL', withoutPassword(endpoints.databaseUrl)],
    ...services.map((service): [string, string] => [`${service} metrics`, endpoints.metrics[service] ?? '']),
    ['all of these', file],
    ['keys and tokens', secrets],
    ['logs', logs],
  ]);
}

function withoutPassword(url: string): string {
  const shown = new URL(url);
  shown.password = '';
  return shown.href;
}

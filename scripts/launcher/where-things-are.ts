import { type Endpoints, runPaths } from '#testkit';
import { services } from './ports.js';
import { table } from './say.js';

/** What a newcomer looks for once an instance runs: one line per URL, command or folder, as a table. Of secrets it shows only the tokens of the demo's people. */
export function whereThingsAre(endpoints: Endpoints, runDir: string): string[] {
  const { secrets, logs, endpoints: file } = runPaths(runDir);
  return table([
    ['intake', `${endpoints.intake}/v1/leads (OpenAPI: ${endpoints.intake}/openapi.json)`],
    ['CRM and chat', new URL('/', endpoints.sandboxCrm).href],
    ['console', `${endpoints.operator}/ (API: ${endpoints.operator}/v1, OpenAPI: ${endpoints.operator}/openapi.json)`],
    ...Object.entries(endpoints.operatorTokens).map(([role, token]): [string, string] => [`  log in as ${role}`, token]),
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

import type { Line } from '../output.js';
import { checkDatabase } from './check-database.js';
import { checkDestinations } from './check-destinations.js';
import { checkKafka, checkRegistry } from './check-kafka.js';
import { checkSecrets } from './check-secrets.js';
import { checkServices } from './check-services.js';
import type { Finding } from './finding.js';
import type { Surroundings } from './surroundings.js';

export interface Diagnosis {
  ok: boolean;
  findings: Finding[];
}

/** Looks at everything that an installation needs, and changes nothing; destinations to `except` are not called. Never rejects. */
export async function diagnose(around: Surroundings, except: readonly string[] = []): Promise<Diagnosis> {
  const { site, secretsDir, databaseUrl, registryUrl, kafka, internal } = around;
  const parts = await Promise.all([
    checkKafka(kafka, Object.keys(site.destinations)),
    checkRegistry(registryUrl),
    checkDatabase(databaseUrl),
    checkServices(internal),
    checkDestinations(
      Object.values(site.destinations).filter(({ name }) => !except.includes(name)),
      secretsDir,
    ),
  ]);
  const findings = [...checkSecrets(secretsDir, site), ...parts.flat()];
  return { ok: findings.every(({ ok }) => ok), findings };
}

/** A line per finding; what is wrong first. */
export function diagnosisLines({ findings }: Diagnosis): Line[] {
  const sorted = [...findings.filter(({ ok }) => !ok), ...findings.filter(({ ok }) => ok)];
  return sorted.map(({ what, ok, detail, fix = '' }) => ({ result: ok ? 'ok' : 'FAIL', what, detail, fix }));
}

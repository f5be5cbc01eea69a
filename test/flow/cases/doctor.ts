import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Kafka, logLevel } from 'kafkajs';
import pg from 'pg';
import { projectRoot } from '#testkit';
import type { CommonStack } from '../../support/common-stack.js';
import { eventually } from '../../support/eventually.js';
import { restartWith } from '../../support/restart-with.js';
import { runLeadctl } from '../../support/run-leadctl.js';
import type { OpenStack } from '../../support/stack.js';

/** What whoever is on call asks an installation: what it stands on. Restarts much of the stack. `siteFile`: what it runs with. */
export function doctorCases(at: CommonStack, siteFile: string): void {
  describe('leadctl doctor', () => {
    let stack: OpenStack;
    let root: pg.Client;

    beforeAll(async () => {
      stack = at.open;
      root = new pg.Client({ connectionString: stack.endpoints().databaseUrl });
      await root.connect();
    });
    afterAll(async () => {
      await root?.end();
    });

    interface Diagnosis {
      ok: boolean;
      findings: { what: string; ok: boolean; detail: string; fix?: string }[];
    }
    const services = ['intake', 'crm-writer', 'notifier', 'operator', 'reconciler'];
    const topic = 'lead.accepted.crm-writer.tour-dns.retry.5m';

    /** What is wrong, with the exit code. Nobody listens behind the failure tour's door. */
    async function diagnosed(): Promise<{ code: number; wrong: Record<string, string> }> {
      const words = ['doctor', '--site', siteFile, '--except', 'tour-door'];
      const { code, answer, complaint } = await runLeadctl(stack.stack.runDir, ...words);
      expect({ code, complaint, answer }).toMatchObject({ answer: { findings: expect.any(Array) } });
      const { findings } = answer as Diagnosis;
      return { code, wrong: Object.fromEntries(findings.filter(({ ok }) => !ok).map(({ what, detail }) => [what, detail])) };
    }
    const isWell = () => eventually(async () => expect(await diagnosed()).toEqual({ code: 0, wrong: {} }), 120_000);

    async function dropTopic(): Promise<void> {
      const kafka = new Kafka({ brokers: stack.endpoints().kafkaBrokers.split(','), clientId: 'doctor-spec', logLevel: logLevel.NOTHING });
      const admin = kafka.admin();
      await admin.connect();
      await admin.deleteTopics({ topics: [topic] });
      await eventually(async () => expect(await admin.listTopics()).not.toContain(topic));
      await admin.disconnect();
    }
    /** As the finding says. A group that runs gets no first offsets. */
    async function applyTopics(): Promise<void> {
      const { kafkaBrokers, sandboxCrm, sandboxMarketing, sandboxChat } = stack.endpoints();
      const env = {
        ...process.env,
        LD_SITE_FILE: siteFile,
        KAFKA_BROKERS: kafkaBrokers,
        SANDBOX_CRM_URL: sandboxCrm,
        SANDBOX_MARKETING_URL: sandboxMarketing,
        SANDBOX_CHAT_URL: sandboxChat,
        DEMO_SOURCE_KEY_HASH: `sha256:${'0'.repeat(64)}`,
      };
      const main = join(projectRoot(), 'dist/apps/leadctl/src/main.js');
      await restartWith(stack.stack, {
        app: 'crm-writer',
        signal: 'SIGTERM',
        env: {},
        whileDown: async () => void (await promisify(execFile)(process.execPath, [main, 'topics', 'apply'], { env })),
      });
      await stack.stack.ready('crm-writer');
    }
    /** The clock of a service's database. */
    const clock = (ahead: string) =>
      root.query(
        `create or replace function notifier.clock_now() returns timestamptz language sql volatile as $$select clock_timestamp() + interval '${ahead}'$$`,
      );

    it('finds nothing wrong with an instance that runs', isWell, 150_000);

    it('names a topic that is gone, a migration that is lacking, a clock that is wrong and a registry that is away, and each until it is put right', async () => {
      await dropTopic();
      const taken = await root.query<{ name: string }>(
        'delete from reconciler.migration where name = (select max(name) from reconciler.migration) returning *',
      );
      const lacking = String(taken.rows[0]?.name);
      await clock('10 minutes');
      await stack.stack.stopInfra('registry');
      const { code, wrong } = await diagnosed();
      expect(code).toBe(1);
      expect(wrong).toMatchObject({
        [`topics: topic ${topic}`]: 'does not exist',
        'database of reconciler': `lacks ${lacking}`,
        'clock of database of notifier': expect.stringMatching(/^(599|600)\d{3} ms ahead of this machine$/),
        registry: expect.stringMatching(/./),
      });
      const others = Object.keys(wrong).filter(
        (what) => !/^(topics: topic|service )|^(registry|database of reconciler|clock of database of notifier)$/.test(what),
      );
      expect(others).toEqual([]);

      await stack.stack.startInfra('registry');
      await clock('0 seconds');
      const columns = Object.keys(taken.rows[0] ?? {});
      await root.query(
        `insert into reconciler.migration (${columns.map((name) => `"${name}"`).join(', ')}) values (${columns.map((_, n) => `$${n + 1}`).join(', ')})`,
        Object.values(taken.rows[0] ?? {}),
      );
      const still = (await diagnosed()).wrong;
      expect(Object.keys(still)).toContain(`topics: topic ${topic}`);
      for (const what of ['registry', 'database of reconciler', 'clock of database of notifier'])
        expect(Object.keys(still)).not.toContain(what);
      await applyTopics();
      await isWell();
    }, 400_000);

    it('names the brokers, and a database that is away, by the services that lack it', async () => {
      await stack.stack.stopInfra('kafka');
      const { code, wrong } = await diagnosed();
      expect({ code, wrong }).toMatchObject({ code: 1, wrong: { kafka: expect.stringMatching(/./) } });
      expect(Object.keys(wrong).filter((what) => !/^kafka$|^service /.test(what))).toEqual([]);
      await stack.stack.startInfra('kafka');
      await root.end();
      await stack.stack.stopInfra('postgres');
      const without = await diagnosed();
      expect(without.code).toBe(1);
      for (const service of services) expect(without.wrong).toHaveProperty([`database of ${service}`]);
      await stack.stack.startInfra('postgres');
      await isWell();
    }, 400_000);
  });
}

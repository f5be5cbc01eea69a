import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { httpEnv, internalEnv, resolveSecret, runService, startInternalServer } from '#runtime';
import { Sandbox } from './sandbox.js';

const env = {
  ...httpEnv,
  INTERNAL_HOST: internalEnv.INTERNAL_HOST,
  INTERNAL_PORT: internalEnv.INTERNAL_PORT,
  /** Where the demo's secrets are, so that signatures and the bot token are looked at. Unset: anything is let in. */
  LD_SECRETS_DIR: z.string().optional(),
};

/** Signing secrets and the bot's token; one that is not there is not asked for. */
const secretFileNames = ['crm-secret', 'marketing-secret', 'chat-token'] as const;

await runService({
  name: 'sandbox',
  env,
  checks: ({ env: { LD_SECRETS_DIR: dir } }) => secretFileNames.map((file) => () => secretIn(dir, file)),
  async start({ env: settings, telemetry, logger }) {
    const secret = (file: (typeof secretFileNames)[number]): string | undefined => secretIn(settings.LD_SECRETS_DIR, file);
    const sandbox = new Sandbox({
      telemetry,
      crmSecret: secret('crm-secret'),
      marketingSecret: secret('marketing-secret'),
      chatToken: secret('chat-token'),
    });
    const internal = await startInternalServer({
      host: settings.INTERNAL_HOST,
      port: settings.INTERNAL_PORT,
      tokens: {},
      readiness: [],
      logger,
    });
    await sandbox.start(settings.HTTP_HOST, settings.HTTP_PORT);
    return [
      { name: 'internal', stop: () => internal.stop() },
      { name: 'sandbox', stop: () => sandbox.stop() },
    ];
  },
});

function secretIn(folder: string | undefined, file: string): string | undefined {
  if (folder === undefined || !existsSync(join(folder, file))) return undefined;
  return resolveSecret({ file }, folder);
}

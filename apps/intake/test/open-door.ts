import { createHash } from 'node:crypto';
import 'reflect-metadata';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { createLogger, startTelemetry } from '#runtime';
import { createApp } from '../src/http/create-app.js';
import type { DoorTools } from '../src/http/door.js';
import { SourceKeys } from '../src/http/source-keys.js';
import type { IntakeParts } from '../src/intake.module.js';

export const doorKey = 'key-one';

export interface DoorOptions {
  /** Id of the one source, whose key is `doorKey`; default `website`. */
  source?: string;
  /** Default: nothing gets as far as a part behind the door. */
  parts?: Partial<IntakeParts>;
  onSubmission?: DoorTools['onSubmission'];
}

/** The HTTP door alone, on a free port: no database, no Kafka. */
export async function openDoor({ source: id = 'website', parts, onSubmission }: DoorOptions = {}): Promise<NestFastifyApplication> {
  const keyHashes = [`sha256:${createHash('sha256').update(doorKey).digest('hex')}`];
  const source = { id, organization: 'demo', country: 'US', trustedTrace: false, requestsPerSecond: 1_000, keyHashes };
  const nothing = {} as never;
  const app = await createApp(
    {
      ...{ acceptance: nothing, journeys: nothing, consents: nothing, submitted: nothing, resolved: nothing, replayed: nothing },
      ...parts,
    },
    {
      keys: new SourceKeys([source]),
      telemetry: startTelemetry({ service: 'intake', ratio: 0 }),
      logger: createLogger('intake', 'silent'),
      bodyLimitBytes: 10_000,
      onSubmission,
    },
  );
  await app.listen(0, '127.0.0.1');
  return app;
}

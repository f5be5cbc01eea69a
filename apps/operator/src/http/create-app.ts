import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyInstance } from 'fastify';
import { frameworkLogger, type Logger } from '#runtime';
import { type OperatorParts, operatorModule } from '../operator.module.js';
import { installKeys } from './asked-by.js';
import { personFinder } from './people.js';
import { RefusalFilter } from './refusal.filter.js';

const bodyLimitBytes = 64 * 1_024;

/** The Nest application with its REST door; it listens nowhere yet. `people`: key by person. */
export async function createApp(
  parts: OperatorParts,
  { people, logger }: { people: Readonly<Record<string, string>>; logger: Logger },
): Promise<NestFastifyApplication> {
  const adapter = new FastifyAdapter({ bodyLimit: bodyLimitBytes, requestTimeout: 10_000, forceCloseConnections: 'idle', logger: false });
  const app = await NestFactory.create<NestFastifyApplication>(operatorModule(parts), adapter, {
    logger: frameworkLogger(logger),
    abortOnError: false,
  });
  app.useGlobalFilters(new RefusalFilter(logger));
  installKeys(adapter.getInstance<FastifyInstance>(), personFinder(people));
  return app;
}

import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyInstance } from 'fastify';
import { frameworkLogger, type Logger } from '#runtime';
import { type OperatorParts, operatorModule } from '../operator.module.js';
import { type Identify, installPeople } from './asked-by.js';
import { type OnRefused, PermitGuard } from './permit.js';
import { RefusalFilter } from './refusal.filter.js';

const bodyLimitBytes = 64 * 1_024;

export interface AppOptions {
  identify: Identify;
  onRefused: OnRefused;
  logger: Logger;
}

/** The Nest application with its REST door; it listens nowhere yet. */
export async function createApp(parts: OperatorParts, { identify, onRefused, logger }: AppOptions): Promise<NestFastifyApplication> {
  const adapter = new FastifyAdapter({ bodyLimit: bodyLimitBytes, requestTimeout: 10_000, forceCloseConnections: 'idle', logger: false });
  const app = await NestFactory.create<NestFastifyApplication>(operatorModule(parts), adapter, {
    logger: frameworkLogger(logger),
    abortOnError: false,
  });
  app.useGlobalFilters(new RefusalFilter(logger));
  app.useGlobalGuards(new PermitGuard(onRefused));
  installPeople(adapter.getInstance<FastifyInstance>(), identify);
  return app;
}

import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyInstance } from 'fastify';
import { frameworkLogger, type Logger } from '#runtime';
import { type OperatorParts, operatorModule } from '../operator.module.js';
import type { SignInNow } from '../people/oidc-discovery.js';
import { type Identify, installPeople } from './asked-by.js';
import { serveConsole } from './console.js';
import { type OnRefused, PermitGuard } from './permit.js';
import { RefusalFilter } from './refusal.filter.js';

const bodyLimitBytes = 64 * 1_024;

export interface AppOptions {
  identify: Identify;
  onRefused: OnRefused;
  logger: Logger;
  /** How people sign in to the web console; absent: they paste a token. */
  signIn?: SignInNow;
}

/** The Nest application with its REST door; it listens nowhere yet. */
export async function createApp(parts: OperatorParts, options: AppOptions): Promise<NestFastifyApplication> {
  const { identify, onRefused, logger } = options;
  const adapter = new FastifyAdapter({
    bodyLimit: bodyLimitBytes,
    requestTimeout: 10_000,
    forceCloseConnections: 'idle',
    // What still arrives on an open connection while the service stops is served: Fastify's own refusal is no problem document.
    return503OnClosing: false,
    logger: false,
  });
  const app = await NestFactory.create<NestFastifyApplication>(operatorModule(parts), adapter, {
    logger: frameworkLogger(logger),
    abortOnError: false,
  });
  app.useGlobalFilters(new RefusalFilter(logger));
  app.useGlobalGuards(new PermitGuard(onRefused));
  const instance = adapter.getInstance<FastifyInstance>();
  installPeople(instance, identify);
  await serveConsole(instance, options.signIn);
  return app;
}

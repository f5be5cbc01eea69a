import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { frameworkLogger } from '#runtime';
import { type IntakeParts, intakeModule } from '../intake.module.js';
import { answerClientError } from './client-error.js';
import { answerWithinMs, type DoorTools, installDoor } from './door.js';
import { RefusalFilter } from './refusal.filter.js';
import { refusals } from './refusal.js';
import { sendRefusal } from './send.js';

/** The Nest application with its HTTP door; it listens nowhere yet. */
export async function createApp(parts: IntakeParts, options: DoorTools & { bodyLimitBytes: number }): Promise<NestFastifyApplication> {
  const { bodyLimitBytes, logger } = options;
  const adapter = new FastifyAdapter({
    bodyLimit: bodyLimitBytes,
    // Headers that do not end are answered here, a body that does not by the door: neither keeps its answer for longer than the 3 s of the
    // contract, the look for them included. What is left is cut off.
    http: { headersTimeout: answerWithinMs, connectionsCheckingInterval: 250 },
    requestTimeout: 10_000,
    forceCloseConnections: 'idle',
    // What still arrives on an open connection while the door closes is served like any other, and the answer ends its connection:
    // storage outlives the door, and Fastify's own refusal is no problem document and names no time to wait.
    return503OnClosing: false,
    // What cannot even be routed (a malformed URL) reaches no hook and no filter, and the default answer repeats it.
    frameworkErrors: (_error: Error, _request: FastifyRequest, reply: FastifyReply) => sendRefusal(reply, refusals.badRequest(400)),
    clientErrorHandler: answerClientError,
    logger: false,
  });
  const app = await NestFactory.create<NestFastifyApplication>(intakeModule(parts), adapter, {
    logger: frameworkLogger(logger),
    bodyParser: false,
    abortOnError: false,
  });
  app.useGlobalFilters(new RefusalFilter(logger, bodyLimitBytes));
  installDoor(adapter.getInstance<FastifyInstance>(), options);
  return app;
}

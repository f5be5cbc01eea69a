import { Controller, Get, Inject, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Sql } from '#runtime';
import type { OpenArea } from '../area.js';
import { Follower } from '../follower.js';
import { asker } from '../http/asked-by.js';
import { Permit } from '../http/permit.js';
import { balanceEveryS, keepBalance } from './keep-balance.js';
import { type Overview, overviewAnswer, readOverview } from './read-overview.js';
import { takeSample } from './samples.js';

const overviewRows = Symbol('overview rows');

/** How things are, on one page. */
@Controller('v1/overview')
class OverviewController {
  constructor(@Inject(overviewRows) private readonly db: Sql) {}

  @Get()
  @Permit('list', { summary: 'What is open and since when, the balance, and how long leads take', response: overviewAnswer })
  overview(@Req() request: FastifyRequest): Promise<Overview> {
    return readOverview(this.db, asker(request));
  }
}

const sampleEveryMs = 10_000;

/** The overview, and what it is made of while nobody looks. */
export const overviewArea: OpenArea = ({ db, owners, clients, logger }) => {
  const owning = new Map([...clients].filter(([name]) => owners.has(name)));
  const intake = clients.get('intake');
  const owner = clients.get('crm-writer');
  const samples = new Follower({
    everyMs: sampleEveryMs,
    logger,
    steps: { sample: () => takeSample({ db, clients: owning, logger }) },
  });
  const balances =
    intake === undefined || owner === undefined
      ? undefined
      : new Follower({ everyMs: balanceEveryS * 1_000, logger, steps: { balance: () => keepBalance({ db, intake, owner, logger }) } });
  return {
    controllers: [OverviewController],
    providers: [{ provide: overviewRows, useValue: db }],
    start: () => {
      samples.start();
      balances?.start();
    },
    // A balance reads every accepted delivery: what has begun is left to fail on the closed database.
    stop: async () => {
      void balances?.stop();
      await samples.stop();
    },
  };
};

import { Readable } from 'node:stream';
import { Body, Controller, Get, HttpCode, Inject, Param, Post, Query, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { asker } from '../http/asked-by.js';
import { Permit } from '../http/permit.js';
import { readInput } from '../http/read-input.js';
import { acceptBody, acceptDiscrepancy, accepted } from './accept.js';
import { balancesAnswer, balancesCsv, balancesQuery, listBalances } from './balances.js';
import { discrepanciesCsv, discrepanciesQuery, exportQuery, listDiscrepancies } from './discrepancies.js';
import { draftRepairs } from './draft-repairs.js';
import { ReconciliationDesk } from './reconciliation-desk.js';
import { repairsAnswer, repairsBody } from './repairs-request.js';
import { listRuns, runsQuery, startRun, startRunBody, stopRun, stopRunBody } from './runs.js';
import { discrepancyItem, page, runItem } from './shapes.js';

const runId = z.object({ run_id: z.uuid() });
const discrepancyId = z.object({ discrepancy_id: z.uuid() });
const started = z.object({ run_id: z.uuid() });
const stopped = z.object({ run_id: z.uuid(), stopped: z.literal(true) });

/** What destinations hold compared with what we know: runs, what they found, what was decided about it, and the daily balance. */
@Controller('v1/reconciliation')
export class ReconciliationController {
  constructor(@Inject(ReconciliationDesk) private readonly desk: ReconciliationDesk) {}

  @Get('runs')
  @Permit('list', { summary: 'Comparisons with destinations, newest first', query: runsQuery, response: page(runItem) })
  runs(@Query() query: unknown, @Req() request: FastifyRequest) {
    return listRuns(this.desk.tools, readInput(runsQuery, query), asker(request));
  }

  @Post('runs')
  @HttpCode(202)
  @Permit('replay_request', {
    summary: 'Compares a window with a destination; changes nothing there',
    body: startRunBody,
    response: started,
  })
  start(@Body() body: unknown, @Req() request: FastifyRequest) {
    return startRun(this.desk.tools, readInput(startRunBody, body), asker(request));
  }

  @Post('runs/:run_id/stop')
  @HttpCode(200)
  @Permit('replay_request', { summary: 'Ends a run; what it found stays', params: runId, body: stopRunBody, response: stopped })
  stop(@Param() params: unknown, @Body() body: unknown, @Req() request: FastifyRequest) {
    const asked = { runId: readInput(runId, params).run_id, ...readInput(stopRunBody, body) };
    return stopRun(this.desk.tools, asked, asker(request));
  }

  @Get('discrepancies')
  @Permit('list', { summary: 'What differs at destinations, oldest first', query: discrepanciesQuery, response: page(discrepancyItem) })
  discrepancies(@Query() query: unknown, @Req() request: FastifyRequest) {
    return listDiscrepancies(this.desk.tools, readInput(discrepanciesQuery, query), asker(request));
  }

  @Get('discrepancies.csv')
  @Permit('list', { summary: 'All that differs as CSV', query: exportQuery, produces: 'text/csv' })
  async discrepanciesCsv(@Query() query: unknown, @Req() request: FastifyRequest, @Res() reply: FastifyReply) {
    const lines = await discrepanciesCsv(this.desk.tools, readInput(exportQuery, query), asker(request));
    await asFile(reply, 'discrepancies.csv').send(Readable.from(lines));
  }

  @Post('discrepancies/:discrepancy_id/accept')
  @HttpCode(200)
  @Permit('replay_approve', {
    summary: 'Records that what stands at the destination is right',
    params: discrepancyId,
    body: acceptBody,
    response: accepted,
  })
  accept(@Param() params: unknown, @Body() body: unknown, @Req() request: FastifyRequest) {
    const asked = { id: readInput(discrepancyId, params).discrepancy_id, ...readInput(acceptBody, body) };
    return acceptDiscrepancy(this.desk.tools, asked, asker(request));
  }

  @Post('repairs')
  @HttpCode(201)
  @Permit('replay_request', {
    summary: 'Freezes discrepancies into a draft of a batch that repairs them; it goes on like any batch: dry run, another person, canary',
    body: repairsBody,
    response: repairsAnswer,
  })
  repair(@Body() body: unknown, @Req() request: FastifyRequest) {
    return draftRepairs(this.desk.tools.batches, readInput(repairsBody, body), asker(request));
  }

  @Get('balances')
  @Permit('list', {
    summary: 'What came in and where it is, by day, source and destination',
    query: balancesQuery,
    response: balancesAnswer,
  })
  balances(@Query() query: unknown, @Req() request: FastifyRequest) {
    return listBalances(this.desk.tools.reconciler, readInput(balancesQuery, query), asker(request));
  }

  @Get('balances.csv')
  @Permit('list', { summary: 'The balances as CSV', query: balancesQuery, produces: 'text/csv' })
  async balancesCsv(@Query() query: unknown, @Req() request: FastifyRequest, @Res() reply: FastifyReply) {
    const text = await balancesCsv(this.desk.tools.reconciler, readInput(balancesQuery, query), asker(request));
    await asFile(reply, 'balances.csv').send(text);
  }
}

const asFile = (reply: FastifyReply, name: string): FastifyReply =>
  reply
    .type('text/csv; charset=utf-8')
    .header('content-disposition', `attachment; filename="${name}"`)
    .header('x-content-type-options', 'nosniff');

import { Body, Controller, Get, HttpCode, Inject, Param, Post, Query, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { type InternalClient, InternalUnavailable } from '#runtime';
import type { OpenArea } from '../area.js';
import { replayOwner, vaultStates } from '../batches/replay-owner.js';
import { asker } from '../http/asked-by.js';
import { Permit } from '../http/permit.js';
import { readInput } from '../http/read-input.js';
import { intakeApi } from '../leads/intake-api.js';
import type { Person } from '../people/person.js';
import { approveCorrection, approveCorrectionRequest } from './approve-correction.js';
import { type CorrectionReport, correctionReport, readCorrection, toReport } from './correction-row.js';
import { correctionRequest, draftCorrection } from './draft-correction.js';
import { correctionsPage, correctionsQuery, listCorrections } from './list-corrections.js';
import { runCorrections } from './run-corrections.js';
import { type CorrectionTools, revisionsOf, writer } from './tools.js';

const correctionId = z.object({ correction_id: z.uuid() });

/** Under which what corrections are made with is injected. */
const correctionTools = Symbol('correction tools');

/** Correcting what a lead says, and having it delivered again. */
@Controller('v1/corrections')
class CorrectionsController {
  constructor(@Inject(correctionTools) private readonly tools: CorrectionTools) {}

  @Get()
  @Permit('list', { summary: 'Corrections, the newest first', query: correctionsQuery, response: correctionsPage })
  list(@Query() query: unknown, @Req() request: FastifyRequest) {
    return listCorrections(this.tools.db, readInput(correctionsQuery, query), asker(request));
  }

  @Post()
  @HttpCode(201)
  @Permit('replay_request', {
    summary:
      'Seals corrected fields of a lead and says what they would change at a destination, after it was asked what it has; changes nothing',
    body: correctionRequest,
    response: correctionReport,
  })
  async draft(@Body() body: unknown, @Req() request: FastifyRequest): Promise<CorrectionReport> {
    const person = asker(request);
    return this.report(await draftCorrection(this.tools, readInput(correctionRequest, body), person), person);
  }

  @Get(':correction_id')
  @Permit('list', { summary: 'A correction and what came of it', params: correctionId, response: correctionReport })
  show(@Param() params: unknown, @Req() request: FastifyRequest): Promise<CorrectionReport> {
    return this.report(readInput(correctionId, params).correction_id, asker(request));
  }

  @Post(':correction_id/approve')
  @HttpCode(200)
  @Permit('replay_approve', {
    summary: 'Has the lead delivered with the corrected fields, by a second person',
    params: correctionId,
    body: approveCorrectionRequest,
    response: correctionReport,
  })
  async approve(@Param() params: unknown, @Body() body: unknown, @Req() request: FastifyRequest): Promise<CorrectionReport> {
    const { correction_id: id } = readInput(correctionId, params);
    const person = asker(request);
    await approveCorrection(this.tools, id, { ...readInput(approveCorrectionRequest, body), person });
    return this.report(id, person);
  }

  private async report(id: string, person: Person): Promise<CorrectionReport> {
    return toReport(await readCorrection(this.tools.db, id, person));
  }
}

/** Of a service that INTERNAL_URLS does not name. */
const away = (name: string): Pick<InternalClient, 'post'> => ({
  post: () => Promise.reject(new InternalUnavailable(`INTERNAL_URLS does not name ${name}`)),
});

/** Corrections, and the step that carries them out. */
export const correctionsArea: OpenArea = ({ clients, owners, ...rest }) => {
  const intake = clients.get('intake');
  const tools: CorrectionTools = {
    ...rest,
    intake: intakeApi(intake),
    revisions: revisionsOf(intake),
    vault: vaultStates(intake ?? away('intake')),
    owner: owners.get(writer) ?? { histories: () => away(writer).post('', {}) },
    replays: replayOwner(clients.get(writer) ?? away(writer)),
  };
  return {
    controllers: [CorrectionsController],
    providers: [{ provide: correctionTools, useValue: tools }],
    steps: { corrections: () => runCorrections(tools) },
  };
};

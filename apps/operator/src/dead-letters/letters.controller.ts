import { Body, Controller, Get, HttpCode, Inject, Param, Post, Query, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { OpenArea } from '../area.js';
import { asker } from '../http/asked-by.js';
import { Permit } from '../http/permit.js';
import { readInput } from '../http/read-input.js';
import {
  assignLetters,
  assignRequest,
  changeDisposition,
  decided,
  dispositionRequest,
  noteLetters,
  noteRequest,
} from './decide-letters.js';
import { type DismissTools, dismissLetter, dismissRequest } from './dismiss-letter.js';
import { groupLetters, groupsAnswer, groupsQuery } from './group-letters.js';
import { groupHeld, type HeldTools, listHeld } from './held/list-held.js';
import { waitingOwner } from './held/waiting-owner.js';
import { kindsPurge } from './kinds-purge.js';
import { letterDetail } from './letter-item.js';
import { letterPage, listLetters, listQuery, showLetters } from './list-letters.js';
import { listNotes, notesAnswer } from './list-notes.js';

const letterTools = Symbol('letter tools');
const eventId = z.object({ event_id: z.uuid() });
const letterId = z.object({ dead_letter_id: z.uuid() });
const dismissal = dismissRequest.pick({ reason: true });
const dismissAnswer = z.object({ dismissed: z.boolean(), outcome: z.string() });

/** Dead letters: what a person must decide on. */
@Controller('v1/dead-letters')
class LettersController {
  constructor(@Inject(letterTools) private readonly tools: DismissTools & HeldTools) {}

  @Get()
  @Permit('list', { summary: 'Dead letters, a page at a time', query: listQuery, response: letterPage })
  list(@Query() query: unknown, @Req() request: FastifyRequest) {
    const asked = readInput(listQuery, query);
    if (asked.tab !== 'held') return listLetters(this.tools.db, asked, asker(request));
    const { after, limit } = asked;
    return listHeld(this.tools, { filter: asked, after, limit }, asker(request));
  }

  @Get('groups')
  @Permit('list', { summary: 'Open dead letters by what failed, the largest groups first', query: groupsQuery, response: groupsAnswer })
  groups(@Query() query: unknown, @Req() request: FastifyRequest) {
    const asked = readInput(groupsQuery, query);
    return asked.tab === 'held' ? groupHeld(this.tools, asked, asker(request)) : groupLetters(this.tools.db, asked, asker(request));
  }

  @Get(':event_id')
  @Permit('list', { summary: 'The dead letters of a lead, whole', params: eventId, response: z.object({ items: z.array(letterDetail) }) })
  show(@Param() params: unknown, @Req() request: FastifyRequest) {
    return showLetters(this.tools.db, readInput(eventId, params).event_id, asker(request));
  }

  @Get(':dead_letter_id/notes')
  @Permit('list', { summary: 'Notes on a dead letter, the oldest first', params: letterId, response: notesAnswer })
  notes(@Param() params: unknown, @Req() request: FastifyRequest) {
    return listNotes(this.tools.db, readInput(letterId, params).dead_letter_id, asker(request));
  }

  @Post('assign')
  @HttpCode(200)
  @Permit(['replay_request', 'replay_approve'], { summary: 'Says who looks after dead letters', body: assignRequest, response: decided })
  assign(@Body() body: unknown, @Req() request: FastifyRequest) {
    return assignLetters(this.tools.db, readInput(assignRequest, body), asker(request));
  }

  @Post('note')
  @HttpCode(200)
  @Permit(['replay_request', 'replay_approve'], { summary: 'Writes a note on dead letters', body: noteRequest, response: decided })
  note(@Body() body: unknown, @Req() request: FastifyRequest) {
    return noteLetters(this.tools.db, readInput(noteRequest, body), asker(request));
  }

  @Post('disposition')
  @HttpCode(200)
  @Permit(['replay_request', 'replay_approve'], {
    summary: 'Says what shall become of dead letters',
    body: dispositionRequest,
    response: decided,
  })
  disposition(@Body() body: unknown, @Req() request: FastifyRequest) {
    return changeDisposition(this.tools.db, readInput(dispositionRequest, body), asker(request));
  }

  @Post(':dead_letter_id/dismiss')
  @HttpCode(200)
  @Permit(['replay_request', 'replay_approve'], {
    summary: 'Closes a dead letter that nothing else can close',
    params: letterId,
    body: dismissal,
    response: dismissAnswer,
  })
  async dismiss(@Param() params: unknown, @Body() body: unknown, @Req() request: FastifyRequest) {
    const person = asker(request);
    const { dead_letter_id } = readInput(letterId, params);
    await listNotes(this.tools.db, dead_letter_id, person);
    return dismissLetter(this.tools, { dead_letter_id, by: person.subject, reason: readInput(dismissal, body).reason }, 'api');
  }
}

/** The queues of what a person must decide on. */
export const lettersArea: OpenArea = ({ clients, ...tools }) => {
  const owning = [...clients].filter(([name]) => tools.owners.has(name));
  const waiting = new Map(owning.map(([name, client]) => [name, waitingOwner(client)]));
  const purge = kindsPurge(tools.db);
  return {
    controllers: [LettersController],
    providers: [{ provide: letterTools, useValue: { ...tools, waiting } }],
    steps: { 'letter kinds': purge },
  };
};

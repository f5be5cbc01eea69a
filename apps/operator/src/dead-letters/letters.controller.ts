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
import { dismissLetter, dismissRequest } from './dismiss-letter.js';
import { dismissedLetters, dismissLetters, dismissManyRequest } from './dismiss-letters.js';
import { groupLetters, groupsAnswer, groupsQuery } from './group-letters.js';
import { type BlockedFound, type BlockedTools, readBlocked } from './held/blocked-destinations.js';
import { groupOpen } from './held/group-open.js';
import { listHeld } from './held/list-held.js';
import { groupUncertain, listUncertain } from './held/list-uncertain.js';
import { type OpenTools, unclaimedAt } from './held/read-open.js';
import { unclaimedOwner } from './held/unclaimed-owner.js';
import { waitingOwner } from './held/waiting-owner.js';
import type { DismissTools } from './judge-dismissal.js';
import { kindsPurge } from './kinds-purge.js';
import { letterDetail } from './letter-item.js';
import { letterPage, listLetters, listQuery, showLetters } from './list-letters.js';
import { listNotes, notesAnswer } from './list-notes.js';

const letterTools = Symbol('letter tools');
const eventId = z.object({ event_id: z.uuid() });
const letterId = z.object({ dead_letter_id: z.uuid() });
const dismissal = dismissRequest.pick({ reason: true });
const dismissAnswer = z.object({ dismissed: z.boolean(), outcome: z.string() });

/** Both are asked at the same time; whoever did not answer to one of them is named. */
async function beside<T extends { unavailable?: string[] }>(list: Promise<T>, destinations: Promise<BlockedFound>) {
  const [page, { blocked, unavailable }] = await Promise.all([list, destinations]);
  const away = [...new Set([...(page.unavailable ?? []), ...unavailable])].sort();
  return { ...page, blocked, ...(away.length > 0 && { unavailable: away }) };
}

/** Dead letters: what a person must decide on. */
@Controller('v1/dead-letters')
class LettersController {
  constructor(@Inject(letterTools) private readonly tools: DismissTools & OpenTools & BlockedTools) {}

  @Get()
  @Permit('list', { summary: 'Dead letters, a page at a time', query: listQuery, response: letterPage })
  async list(@Query() query: unknown, @Req() request: FastifyRequest) {
    const asked = readInput(listQuery, query);
    const person = asker(request);
    if (asked.tab === 'uncertain') return listUncertain(this.tools, asked, person);
    if (asked.tab !== 'held') return listLetters(this.tools.db, asked, person);
    const { after, limit } = asked;
    const page = listHeld(this.tools, { filter: asked, after, limit }, person);
    // They stand above the list once, not again with every page.
    return after === undefined ? beside(page, readBlocked(this.tools, asked, person)) : page;
  }

  @Get('groups')
  @Permit('list', { summary: 'Open dead letters by what failed, the largest groups first', query: groupsQuery, response: groupsAnswer })
  async groups(@Query() query: unknown, @Req() request: FastifyRequest) {
    const asked = readInput(groupsQuery, query);
    const person = asker(request);
    if (asked.tab === 'uncertain') return groupUncertain(this.tools, asked, person);
    if (asked.tab !== 'held') return groupLetters(this.tools.db, asked, person);
    return beside(groupOpen(this.tools, { kind: 'held', filter: asked }, person), readBlocked(this.tools, asked, person));
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

  @Post('dismiss')
  @HttpCode(200)
  @Permit(['replay_request', 'replay_approve'], {
    summary: 'Closes the dead letters of a group, or some, that nothing else can close',
    body: dismissManyRequest,
    response: dismissedLetters,
  })
  dismissMany(@Body() body: unknown, @Req() request: FastifyRequest) {
    return dismissLetters(this.tools, readInput(dismissManyRequest, body), asker(request));
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
  const [intake, writer] = [clients.get(unclaimedAt), tools.owners.get('crm-writer')];
  if (intake !== undefined && writer !== undefined) waiting.set(unclaimedAt, unclaimedOwner({ intake, writer }));
  const purge = kindsPurge(tools.db);
  return {
    controllers: [LettersController],
    providers: [{ provide: letterTools, useValue: { ...tools, clients, waiting } }],
    steps: { 'letter kinds': purge },
  };
};

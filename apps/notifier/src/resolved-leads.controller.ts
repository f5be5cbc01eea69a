import { Controller, Inject, UseFilters } from '@nestjs/common';
import { EventPattern, Payload } from '@nestjs/microservices';
import { type LeadResolved, topics } from '#contracts';
import { OriginalErrors, type Received } from '#messaging';
import { Desks } from './desks.js';
import { Silence } from './silence.js';

/** What the group `notifier` reads: resolved leads, from the main topic, the retry tiers and the replay topic alike. */
@Controller()
@UseFilters(OriginalErrors)
export class ResolvedLeadsController {
  constructor(
    @Inject(Desks) private readonly desks: Desks,
    @Inject(Silence) private readonly silence: Silence,
  ) {}

  @EventPattern<string>(topics.leadResolved)
  resolvedLeads(@Payload() received: Received<LeadResolved>[]): void {
    this.silence.note(received);
    this.desks.take(received);
  }
}

import { Controller, Inject, UseFilters } from '@nestjs/common';
import { EventPattern, Payload } from '@nestjs/microservices';
import { type LeadResolved, topics } from '#contracts';
import { DeliveryEngine } from '#delivery';
import { OriginalErrors, type Received } from '#messaging';
import { Silence } from './silence.js';

/** What the group `notifier` reads: resolved leads, from the main topic, the retry tiers and the replay topic alike. */
@Controller()
@UseFilters(OriginalErrors)
export class ResolvedLeadsController {
  constructor(
    @Inject(DeliveryEngine) private readonly engine: DeliveryEngine<LeadResolved>,
    private readonly silence: Silence,
  ) {}

  @EventPattern<string>(topics.leadResolved)
  resolvedLeads(@Payload() received: Received<LeadResolved>[]): void {
    this.silence.note(received);
    this.engine.take(received);
  }
}

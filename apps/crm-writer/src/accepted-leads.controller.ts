import { Controller, UseFilters } from '@nestjs/common';
import { Ctx, EventPattern, Payload } from '@nestjs/microservices';
import { type LeadAccepted, topics } from '#contracts';
import { OriginalErrors, type Received, type ReceivedContext } from '#messaging';
import { Engines } from './engines.js';

/** What the groups of this process read: accepted leads, from the main topic, the retry tiers and the replay topic alike. */
@Controller()
@UseFilters(OriginalErrors)
export class AcceptedLeadsController {
  constructor(private readonly engines: Engines) {}

  @EventPattern<string>(topics.leadAccepted)
  acceptedLeads(@Payload() received: Received<LeadAccepted>[], @Ctx() { group }: ReceivedContext): void {
    this.engines.of(group).take(received);
  }
}

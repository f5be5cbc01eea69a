import { Controller, UseFilters } from '@nestjs/common';
import { EventPattern, Payload } from '@nestjs/microservices';
import { type LeadResolved, type LeadSubmitted, topics } from '#contracts';
import { OriginalErrors, type Received } from '#messaging';
import { ResolvedLeads } from './resolved-leads.js';
import { SubmittedLeads } from './submitted-leads.js';

/** The topics that intake reads. */
@Controller()
@UseFilters(OriginalErrors)
export class RecordsController {
  constructor(
    private readonly submitted: SubmittedLeads,
    private readonly resolved: ResolvedLeads,
  ) {}

  @EventPattern(topics.leads)
  submittedLeads(@Payload() received: Received<LeadSubmitted>[]): Promise<void> {
    return this.submitted.handle(received);
  }

  @EventPattern(topics.leadResolved)
  resolvedLeads(@Payload() received: Received<LeadResolved>[]): Promise<void> {
    return this.resolved.handle(received);
  }
}

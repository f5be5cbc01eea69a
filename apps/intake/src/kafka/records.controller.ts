import { Controller, UseFilters } from '@nestjs/common';
import { EventPattern, Payload } from '@nestjs/microservices';
import { type LeadResolved, type LeadSubmitted, topics } from '#contracts';
import { OriginalErrors, type Received } from '#messaging';
import { ReplayedItems } from '../replay/replayed-items.js';
import { ResolvedLeads } from './resolved-leads.js';
import { SubmittedLeads } from './submitted-leads.js';

/** The topics that intake reads. */
@Controller()
@UseFilters(OriginalErrors)
export class RecordsController {
  constructor(
    private readonly submitted: SubmittedLeads,
    private readonly resolved: ResolvedLeads,
    private readonly replayed: ReplayedItems,
  ) {}

  /** Of the topic `leads`, and approved items: one group has one handler. */
  @EventPattern(topics.leads)
  submittedLeads(@Payload() received: Received<LeadSubmitted>[]): Promise<void> {
    const items = received.filter(({ receipt }) => this.replayed.isOne(receipt.record));
    if (items.length === 0) return this.submitted.handle(received);
    this.replayed.take(items);
    return this.submitted.handle(received.filter((one) => !items.includes(one)));
  }

  @EventPattern(topics.leadResolved)
  resolvedLeads(@Payload() received: Received<LeadResolved>[]): Promise<void> {
    return this.resolved.handle(received);
  }
}

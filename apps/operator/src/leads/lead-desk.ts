import type { z } from 'zod';
import type { Site } from '#runtime';
import { refusals } from '../http/refusal.js';
import { mayRead, type Person } from '../people/person.js';
import { type ActionTools, actOnDelivery, type DeliveryAction } from './delivery-actions.js';
import { type LeadTools, leadRecords } from './lead-records.js';
import { reveal } from './reveal.js';
import { type SearchAnswer, search, type searchRequest } from './search.js';
import { toTimeline } from './timeline.js';
import type { Timeline } from './timeline-shape.js';

export interface LeadDeskTools extends ActionTools {
  site: Pick<Site, 'destinations' | 'owners'>;
  reconciler?: LeadTools['reconciler'];
}

/** What people can find out about one lead and do about it. A lead that a person may not see does not exist for them. */
export class LeadDesk {
  constructor(private readonly tools: LeadDeskTools) {}

  search(request: z.infer<typeof searchRequest>, person: Person): Promise<SearchAnswer> {
    return search(this.tools, request, person);
  }

  /** Rejects with the refusal 404 where nobody knows the lead, 503 where nobody who may know it answers. */
  async timeline(eventId: string, person: Person): Promise<Timeline> {
    const records = await leadRecords(this.tools, eventId);
    const found = toTimeline(records, this.tools.site);
    if (found === undefined && records.unavailable.includes('intake')) throw refusals.unavailable();
    if (found === undefined || !mayRead(person, found.organization)) throw refusals.notFound();
    return found;
  }

  reveal(request: { eventId: string; reason: string }, person: Person): ReturnType<typeof reveal> {
    return reveal(this.tools, request, person);
  }

  act(action: DeliveryAction, person: Person): ReturnType<typeof actOnDelivery> {
    return actOnDelivery(this.tools, action, person);
  }
}

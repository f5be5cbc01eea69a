import { type DynamicModule, Module } from '@nestjs/common';
import { Consents } from './consent/consents.js';
import { HttpAcceptance } from './http/http-acceptance.js';
import { LeadsController } from './http/leads.controller.js';
import { OpenApiController } from './http/openapi.controller.js';
import { LeadJourneys } from './journey/lead-journeys.js';
import { RecordsController } from './kafka/records.controller.js';
import { ResolvedLeads } from './kafka/resolved-leads.js';
import { SubmittedLeads } from './kafka/submitted-leads.js';
import { ReplayedItems } from './replay/replayed-items.js';

/** What the controllers work with. */
export interface IntakeParts {
  acceptance: HttpAcceptance;
  journeys: LeadJourneys;
  consents: Consents;
  submitted: SubmittedLeads;
  resolved: ResolvedLeads;
  replayed: ReplayedItems;
}

@Module({})
class IntakeModule {}

/** Nest at the edge: it finds the controllers and hands them their parts, nothing more. */
export function intakeModule(parts: IntakeParts): DynamicModule {
  return {
    module: IntakeModule,
    controllers: [LeadsController, OpenApiController, RecordsController],
    providers: [
      { provide: HttpAcceptance, useValue: parts.acceptance },
      { provide: LeadJourneys, useValue: parts.journeys },
      { provide: Consents, useValue: parts.consents },
      { provide: SubmittedLeads, useValue: parts.submitted },
      { provide: ResolvedLeads, useValue: parts.resolved },
      { provide: ReplayedItems, useValue: parts.replayed },
    ],
  };
}

/** Leads that one request may ask for at most. */
export const leadSourcesLimit = 500;

/** Item of intake's POST /internal/v1/leads:sources. */
export interface LeadSource {
  event_id: string;
  organization: string;
  source: string;
}

/** Its answer: a lead that is not known there is left out. */
export interface LeadSourcesAnswer {
  items: LeadSource[];
}

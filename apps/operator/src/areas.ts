import type { Area, AreaTools, OpenArea } from './area.js';
import { auditArea } from './audit/audit.controller.js';
import { batchArea } from './batches/batch-area.js';
import { consentArea } from './consent/consent.controller.js';
import { correctionsArea } from './corrections/corrections.controller.js';
import { lettersArea } from './dead-letters/letters.controller.js';
import { noticesArea } from './dead-letters/notices/notices-area.js';
import { deskArea } from './desk.js';
import { destinationsArea } from './destinations/destinations.controller.js';
import { erasuresArea } from './erasures/erasures.controller.js';
import { peopleArea } from './http/me.controller.js';
import { leadsArea } from './leads/leads.controller.js';
import { liveArea } from './live/live.controller.js';
import { openApiArea } from './openapi/openapi.controller.js';
import { overviewArea } from './overview/overview.controller.js';
import { reconciliationArea } from './reconciliation/reconciliation-area.js';

/** All of the operator's surface. */
const open: readonly OpenArea[] = [
  peopleArea,
  auditArea,
  deskArea,
  destinationsArea,
  lettersArea,
  noticesArea,
  overviewArea,
  batchArea,
  leadsArea,
  consentArea,
  correctionsArea,
  erasuresArea,
  reconciliationArea,
  liveArea,
];

/** Opens every area, in this order, and describes their doors. Rejects with what the first of them rejects with. */
export async function openAreas(tools: AreaTools): Promise<Area[]> {
  const areas: Area[] = [];
  for (const area of open) areas.push(await area(tools));
  return [...areas, openApiArea(areas)];
}

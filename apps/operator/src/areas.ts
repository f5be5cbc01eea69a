import type { Area, AreaTools, OpenArea } from './area.js';
import { auditArea } from './audit/audit.controller.js';
import { batchArea } from './batches/batch-area.js';
import { deskArea } from './http/desk.controller.js';
import { peopleArea } from './http/me.controller.js';

/** All of the operator's surface. */
const open: readonly OpenArea[] = [peopleArea, auditArea, deskArea, batchArea];

/** Opens every area, in this order. Rejects with what the first of them rejects with. */
export async function openAreas(tools: AreaTools): Promise<Area[]> {
  const areas: Area[] = [];
  for (const area of open) areas.push(await area(tools));
  return areas;
}

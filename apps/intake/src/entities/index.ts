import { DeliveryRow } from './delivery.entity.js';
import { IntakeKeyRow } from './intake-key.entity.js';
import { Lead } from './lead.entity.js';
import { Rejected } from './rejected.entity.js';

/** What intake's ordinary queries read. */
export const entities = [Lead, IntakeKeyRow, DeliveryRow, Rejected];

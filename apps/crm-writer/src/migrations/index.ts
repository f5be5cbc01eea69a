import { CreateCrmWriter1764374400000 } from './1764374400000-create-crm-writer.js';

/** The tables of crm-writer, in order. Run by `leadctl migrate` in crm-writer's own schema. */
export const migrations = [CreateCrmWriter1764374400000];

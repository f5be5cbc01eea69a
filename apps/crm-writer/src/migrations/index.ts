import { CreateCrmWriter1764374400000 } from './1764374400000-create-crm-writer.js';
import { Recovery1764420000000 } from './1764420000000-recovery.js';
import { FindDeliveries1764460800000 } from './1764460800000-find-deliveries.js';
import { CallTimes1764460800005 } from './1764460800005-call-times.js';
import { Window1764547200000 } from './1764547200000-window.js';
import { Compared1764547200003 } from './1764547200003-compared.js';
import { UncertainAt1764547200016 } from './1764547200016-uncertain-at.js';
import { CountTestLeads1764547200018 } from './1764547200018-count-test-leads.js';

/** The tables of crm-writer, in order. Run by `leadctl migrate` in crm-writer's own schema. */
export const migrations = [
  CreateCrmWriter1764374400000,
  Recovery1764420000000,
  FindDeliveries1764460800000,
  CallTimes1764460800005,
  Window1764547200000,
  Compared1764547200003,
  UncertainAt1764547200016,
  CountTestLeads1764547200018,
];

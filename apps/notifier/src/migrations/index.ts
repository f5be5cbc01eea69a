import { CreateNotifier1764374400000 } from './1764374400000-create-notifier.js';
import { Recovery1764420000000 } from './1764420000000-recovery.js';
import { FindDeliveries1764460800000 } from './1764460800000-find-deliveries.js';
import { CallTimes1764460800005 } from './1764460800005-call-times.js';
import { Compared1764547200003 } from './1764547200003-compared.js';
import { ContactWritten1764547200004 } from './1764547200004-contact-written.js';
import { OwnerlessLeads1764547200010 } from './1764547200010-ownerless-leads.js';
import { UncertainAt1764547200016 } from './1764547200016-uncertain-at.js';
import { OwnerlessAge1764547200017 } from './1764547200017-ownerless-age.js';
import { CountTestLeads1764547200018 } from './1764547200018-count-test-leads.js';

/** The tables of notifier, in order. Run by `leadctl migrate` in notifier's own schema. */
export const migrations = [
  CreateNotifier1764374400000,
  Recovery1764420000000,
  FindDeliveries1764460800000,
  CallTimes1764460800005,
  Compared1764547200003,
  ContactWritten1764547200004,
  OwnerlessLeads1764547200010,
  UncertainAt1764547200016,
  OwnerlessAge1764547200017,
  CountTestLeads1764547200018,
];

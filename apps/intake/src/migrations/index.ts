import { CreateIntake1764374400000 } from './1764374400000-create-intake.js';
import { Recovery1764420000000 } from './1764420000000-recovery.js';
import { SearchLeads1764460800000 } from './1764460800000-search-leads.js';
import { EraseAndCorrect1764460800003 } from './1764460800003-erase-and-correct.js';
import { CountReceived1764547200001 } from './1764547200001-count-received.js';
import { ReplayItems1764547200002 } from './1764547200002-replay-items.js';
import { OwnEnds1764547200003 } from './1764547200003-own-ends.js';
import { NewestOfAContact1764547200004 } from './1764547200004-newest-of-a-contact.js';
import { PageOfUnclaimed1764547200005 } from './1764547200005-page-of-unclaimed.js';

/** The tables of intake, in order. Run by `leadctl migrate` in intake's own schema. */
export const migrations = [
  CreateIntake1764374400000,
  Recovery1764420000000,
  SearchLeads1764460800000,
  EraseAndCorrect1764460800003,
  CountReceived1764547200001,
  ReplayItems1764547200002,
  OwnEnds1764547200003,
  NewestOfAContact1764547200004,
  PageOfUnclaimed1764547200005,
];

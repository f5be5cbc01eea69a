import { CreateOperator1764374400000 } from './1764374400000-create-operator.js';
import { PeopleAndAudit1764460800000 } from './1764460800000-people-and-audit.js';
import { Batches1764460800001 } from './1764460800001-batches.js';
import { Queues1764460800002 } from './1764460800002-queues.js';
import { Subjects1764460800003 } from './1764460800003-subjects.js';
import { Reveals1764460800004 } from './1764460800004-reveals.js';
import { Live1764460800005 } from './1764460800005-live.js';
import { LetterKinds1764460800010 } from './1764460800010-letter-kinds.js';
import { Repairs1764460800011 } from './1764460800011-repairs.js';
import { ReplayAtSize1764460800012 } from './1764460800012-replay-at-size.js';
import { RefusedRecords1764547200010 } from './1764547200010-refused-records.js';
import { ReconciliationFigures1764547200011 } from './1764547200011-reconciliation-figures.js';
import { BalanceLease1764547200012 } from './1764547200012-balance-lease.js';
import { BatchPace1764547200013 } from './1764547200013-batch-pace.js';
import { UnapprovedBatches1764547200014 } from './1764547200014-unapproved-batches.js';
import { BatchMarks1764547200015 } from './1764547200015-batch-marks.js';
import { CanaryCounts1764547200026 } from './1764547200026-canary-counts.js';

/** The tables of operator, in order. Run by `leadctl migrate` in operator's own schema. */
export const migrations = [
  CreateOperator1764374400000,
  PeopleAndAudit1764460800000,
  Batches1764460800001,
  Queues1764460800002,
  Subjects1764460800003,
  Reveals1764460800004,
  Live1764460800005,
  LetterKinds1764460800010,
  Repairs1764460800011,
  ReplayAtSize1764460800012,
  RefusedRecords1764547200010,
  ReconciliationFigures1764547200011,
  BalanceLease1764547200012,
  BatchPace1764547200013,
  UnapprovedBatches1764547200014,
  BatchMarks1764547200015,
  CanaryCounts1764547200026,
];

import { CreateReconciler1764547200000 } from './1764547200000-create-reconciler.js';
import { LooksOfAnEvent1764547200001 } from './1764547200001-looks-of-an-event.js';

/** The tables of reconciler, in order. Run by `leadctl migrate` in reconciler's own schema. */
export const migrations = [CreateReconciler1764547200000, LooksOfAnEvent1764547200001];

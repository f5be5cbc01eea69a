import { CreateReconciler1764547200000 } from './1764547200000-create-reconciler.js';

/** The tables of reconciler, in order. Run by `leadctl migrate` in reconciler's own schema. */
export const migrations = [CreateReconciler1764547200000];

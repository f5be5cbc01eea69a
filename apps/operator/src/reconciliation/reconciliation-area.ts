import type { OpenArea } from '../area.js';
import { batchTools } from '../batches/batch-area.js';
import { keepFigures } from './keep-figures.js';
import { reconcilerApi } from './reconciler-api.js';
import { ReconciliationController } from './reconciliation.controller.js';
import { ReconciliationDesk } from './reconciliation-desk.js';
import { tellReconciler } from './tell-reconciler.js';

/** Reconciliation for people, and what became of repairs for the reconciler. */
export const reconciliationArea: OpenArea = (given) => {
  const { db, site, clients, logger } = given;
  const reconciler = reconcilerApi(clients.get('reconciler'));
  const desk = new ReconciliationDesk({ db, site, reconciler, batches: batchTools(given) });
  return {
    controllers: [ReconciliationController],
    providers: [{ provide: ReconciliationDesk, useValue: desk }],
    steps: {
      repairs: () => tellReconciler({ db, reconciler, logger }),
      // Without a reconciler nothing is compared, and nothing is to be counted.
      ...(clients.has('reconciler') && { 'what differs': () => keepFigures({ db, site, reconciler }) }),
    },
  };
};

import { runService } from '#runtime';
import { reconcilerEnv } from './env.js';
import { startReconciler } from './start-reconciler.js';

await runService({ name: 'reconciler', env: reconcilerEnv, start: startReconciler });

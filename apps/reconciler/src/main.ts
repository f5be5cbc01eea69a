import { runService } from '#runtime';
import { reconcilerChecks } from './checks.js';
import { reconcilerEnv } from './env.js';
import { startReconciler } from './start-reconciler.js';

await runService({ name: 'reconciler', env: reconcilerEnv, checks: reconcilerChecks, start: startReconciler });

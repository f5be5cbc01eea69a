import 'reflect-metadata';
import { runService } from '#runtime';
import { notifierChecks } from './checks.js';
import { notifierEnv } from './env.js';
import { startNotifier } from './start-notifier.js';

await runService({ name: 'notifier', env: notifierEnv, checks: notifierChecks, start: startNotifier });

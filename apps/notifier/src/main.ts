import 'reflect-metadata';
import { runService } from '#runtime';
import { notifierEnv } from './env.js';
import { startNotifier } from './start-notifier.js';

await runService({ name: 'notifier', env: notifierEnv, start: startNotifier });

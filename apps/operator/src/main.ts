import 'reflect-metadata';
import { runService } from '#runtime';
import { operatorChecks } from './checks.js';
import { operatorEnv } from './env.js';
import { startOperator } from './start-operator.js';

await runService({ name: 'operator', env: operatorEnv, checks: operatorChecks, start: startOperator });

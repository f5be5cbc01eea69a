import 'reflect-metadata';
import { runService } from '#runtime';
import { operatorEnv } from './env.js';
import { startOperator } from './start-operator.js';

await runService({ name: 'operator', env: operatorEnv, start: startOperator });

import 'reflect-metadata';
import { runService } from '#runtime';
import { crmWriterChecks } from './checks.js';
import { crmWriterEnv } from './env.js';
import { startCrmWriter } from './start-crm-writer.js';

await runService({ name: 'crm-writer', env: crmWriterEnv, checks: crmWriterChecks, start: startCrmWriter });

import 'reflect-metadata';
import { runService } from '#runtime';
import { intakeChecks } from './checks.js';
import { intakeEnv } from './env.js';
import { startIntake } from './start-intake.js';

await runService({ name: 'intake', env: intakeEnv, checks: intakeChecks, start: startIntake });

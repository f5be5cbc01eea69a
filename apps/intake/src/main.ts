import 'reflect-metadata';
import { runService } from '#runtime';
import { intakeEnv } from './env.js';
import { startIntake } from './start-intake.js';

await runService({ name: 'intake', env: intakeEnv, start: startIntake });

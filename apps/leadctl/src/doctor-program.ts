import type { Command } from 'commander';
import { diagnose, diagnosisLines } from './doctor/doctor.js';
import { surroundings } from './doctor/surroundings.js';
import type { Context } from './rest/rest-command.js';

/** `doctor`: exit 0 when all is well, 1 when something is not. */
export function addDoctor(program: Command, { output, env, ended }: Context): void {
  program
    .command('doctor')
    .description(
      'look at broker, topics, registry, database, clocks, credentials, services and destinations; exit 1 when something is wrong',
    )
    .option('--run-dir <dir>', 'directory of a running instance (default: LD_SITE_FILE and the other variables if set, else .run)')
    .option('--site <file>', 'site file of that instance (default: config/demo.yaml)')
    .option('--except <destination...>', 'destinations that are down on purpose, such as tour-door of the demo', [])
    .action(async ({ except, ...options }: { runDir?: string; site?: string; except: string[] }) => {
      const diagnosis = await diagnose(surroundings(options, env), except);
      output().document(diagnosis, diagnosisLines(diagnosis));
      ended(diagnosis.ok ? 0 : 1);
    });
}

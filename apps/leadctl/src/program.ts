import { Command, InvalidArgumentError } from 'commander';
import { z } from 'zod';
import { createKafka, kafkaSettings } from '#messaging';
import { baseEnv, createLogger, databaseEnv, kafkaEnv, loadAll, loadEnv, loadSite, registryEnv, siteEnv } from '#runtime';
import { addCommands } from './command-program.js';
import { balance, balanceCodes, balanceLines } from './commands/balance.js';
import { migrate } from './commands/migrate.js';
import { applyAllSchemas, schemaProblems, schemasDir } from './commands/schemas.js';
import { newSourceKey } from './commands/sources.js';
import { applyAllTopics, topicLines } from './commands/topics.js';
import { addDoctor } from './doctor-program.js';
import { exitCodes } from './exit-codes.js';
import { findInstallation } from './installation.js';
import { addOperator } from './operator-program.js';
import { createOutput, type Output } from './output.js';
import { addRest } from './rest-program.js';
import { addVault } from './vault-program.js';

const owner = { DATABASE_URL: databaseEnv.DATABASE_URL };

/** `leadctl`. Every action gives its exit code to `ended`; errors are left to the caller. Settings come from the environment, as with services. */
export function createProgram(ended: (code: number) => void, env: NodeJS.ProcessEnv = process.env): Command {
  const program = new Command('leadctl')
    .description(
      'Jobs and tools of lead delivery. Exit codes: 0 done, 1 failed, 2 usage or configuration, 3 found something to change, 4 out of reach, 5 refused.',
    )
    .option('--json', 'print JSON instead of tables')
    .exitOverride();
  const output = (): Output => createOutput(program.opts<{ json?: boolean }>().json === true);
  addMigrate(program, { output, env });
  addTopics(program, { output, env, ended });
  addSchemas(program, { output, env, ended });
  addSources(program, output);
  addVault(program, { output, env, ended });
  addBalance(program, { output, env, ended });
  addOperator(program, { output, env, ended });
  addCommands(program, { output, env, ended });
  addRest(program, { output, env, ended });
  addDoctor(program, { output, env, ended });
  return program;
}

interface Context {
  output(): Output;
  env: NodeJS.ProcessEnv;
}
interface Judging extends Context {
  ended(code: number): void;
}

function addMigrate(program: Command, { output, env }: Context): void {
  program
    .command('migrate')
    .description('create roles, schemas and tables of every service in DATABASE_URL (owner); safe to repeat')
    .option('--service <name...>', 'only these services')
    .option('--login <user>', 'database user of the services, if not the owner')
    .action(async ({ service, login }: { service?: string[]; login?: string }) => {
      const { DATABASE_URL: url } = loadEnv(z.object(owner), env);
      output().table(await migrate({ url, services: service, login }), 'no service has migrations');
    });
}

function addTopics(program: Command, { output, env, ended }: Judging): void {
  program
    .command('topics')
    .description('topics and first offsets')
    .command('apply')
    .description('create missing topics, commit the earliest offset where a group has none, name what differs (exit 3)')
    .option('--replication <n>', 'copies of each topic (default: 3, or the number of brokers if fewer)', positive)
    .action(async ({ replication }: { replication?: number }) => {
      const [settings, site] = loadAll(
        () => loadEnv(z.object({ ...kafkaEnv, LOG_LEVEL: baseEnv.LOG_LEVEL }), env),
        () => loadSite(loadEnv(z.object({ LD_SITE_FILE: siteEnv.LD_SITE_FILE }), env).LD_SITE_FILE, env),
      );
      const kafka = createKafka({ ...kafkaSettings(settings), clientId: 'leadctl', logger: createLogger('leadctl', 'silent') });
      try {
        const destinations = Object.keys(site.destinations);
        const report = await applyAllTopics({ admin: await kafka.admin(), destinations, replication });
        output().table(topicLines(report), 'no topics');
        if (report.problems.length > 0) ended(exitCodes.found);
      } finally {
        await kafka.close();
      }
    });
}

function addSchemas(program: Command, { output, env, ended }: Judging): void {
  const schemas = program.command('schemas').description('contracts of the topics');
  schemas
    .command('apply')
    .description('register every schema at SCHEMA_REGISTRY_URL and store the ids with each service; safe to repeat')
    .option('--dir <folder>', 'folder with <subject>/v<N>.avsc', schemasDir)
    .action(async ({ dir }: { dir: string }) => {
      const settings = loadEnv(z.object({ ...owner, ...registryEnv }), env);
      const lines = await applyAllSchemas({ registryUrl: settings.SCHEMA_REGISTRY_URL, url: settings.DATABASE_URL, dir });
      output().table(lines, 'no schemas');
    });
  schemas
    .command('check')
    .description('check rules and compatibility with all earlier versions on disk alone; exit 3 when something is wrong')
    .option('--dir <folder>', 'folder with <subject>/v<N>.avsc', schemasDir)
    .action(({ dir }: { dir: string }) => {
      const problems = schemaProblems(dir);
      output().table(problems, 'all schemas are fine');
      if (problems.length > 0) ended(exitCodes.found);
    });
}

function addSources(program: Command, output: () => Output): void {
  program
    .command('sources')
    .description('sources that hand in leads')
    .command('new-key')
    .description('make a bearer key; its hash goes into the site file, the key is shown once')
    .action(() => output().table([newSourceKey()], ''));
}

function addBalance(program: Command, { output, env, ended }: Judging): void {
  program
    .command('balance')
    .description(
      'look for every delivery accepted in the last 8 days; exit codes of its own: 0 each is in one state, 1 some are missing or incomplete (named), 2 a service cannot be asked',
    )
    .option('--run-dir <dir>', 'directory of a running instance (default: INTERNAL_URLS and LD_SECRETS_DIR if set, else .run)')
    .action(async ({ runDir }: { runDir?: string }) => {
      try {
        const result = await balance(findInstallation(runDir, env));
        output().document(result, balanceLines(result));
        ended(result.balanced ? balanceCodes.balanced : balanceCodes.unbalanced);
      } catch (error) {
        process.stderr.write(`leadctl: no balance: ${(error as Error).message}\n`);
        ended(balanceCodes.unreachable);
      }
    });
}

function positive(text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value > 0) return value;
  throw new InvalidArgumentError('Write a whole number above 0.');
}

// `npm run first-sight`: what a newcomer meets. Clones the last commit into a temporary folder, starts it with the system's own Node, puts the
// README's lead in by the README's own commands, follows it into the CRM and the chat, stops, and looks for what was left behind. Prints times
// and memory and judges neither; ends with 1 when something is missing or left over, and then leaves the clone to look at.
import { execFile, spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import {
  type Endpoints,
  freePortRange,
  isRunning,
  type ProcessIdentity,
  portTaken,
  projectRoot,
  type RunState,
  readJsonFile,
  runPaths,
} from '#testkit';
import { arrivalOf } from './first-sight/arrival.js';
import { newcomersEnvironment } from './first-sight/newcomer.js';
import { familyOf, startedFrom } from './first-sight/processes.js';
import { postAsReadme, type ReadmeCommands, readmeCommands } from './first-sight/readme-commands.js';

const portCount = 16;

/** A clone and how its instance is run. */
interface Clone {
  folder: string;
  root: string;
  runDir: string;
  portBase: number;
  env: NodeJS.ProcessEnv;
  commands: ReadmeCommands;
}

const run = async (command: string, args: string[], options: { cwd: string; env: NodeJS.ProcessEnv }): Promise<string> =>
  (await promisify(execFile)(command, args, options)).stdout.trim();

async function cloned(): Promise<Clone> {
  const folder = mkdtempSync(join(tmpdir(), 'first-sight-'));
  // Started by root, PostgreSQL runs as another account, which has to get in.
  chmodSync(folder, 0o755);
  const root = join(folder, 'lead-delivery');
  // An instance must not outlive us, even when we are killed.
  const env = { ...newcomersEnvironment(process.env), LD_STOP_WITH_PID: String(process.pid) };
  const here = { cwd: projectRoot(), env };
  const commit = await run('git', ['rev-parse', 'HEAD'], here);
  await run('git', ['clone', '--quiet', '--no-checkout', here.cwd, root], here);
  await run('git', ['checkout', '--quiet', '--detach', commit], { cwd: root, env });
  const changed = (await run('git', ['status', '--porcelain'], here)) !== '';
  console.log(`Cloned ${commit.slice(0, 12)} into ${root}${changed ? '; uncommitted changes are not in it' : ''}`);
  return {
    folder,
    root,
    runDir: join(root, '.run'),
    portBase: await freePortRange(portCount),
    env,
    commands: readmeCommands(readFileSync(join(root, 'README.md'), 'utf8')),
  };
}

/** Runs a command of the README, with what it says shown and given. Throws when it fails. */
function inShell({ root, runDir, env }: Clone, command: string): Promise<string> {
  console.log(`$ ${command}`);
  const child = spawn('sh', ['-ec', command], { cwd: root, env: { ...env, RUN: runDir }, stdio: ['ignore', 'pipe', 'inherit'] });
  let said = '';
  child.stdout.on('data', (text: Buffer) => {
    said += text.toString();
    process.stdout.write(text);
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => (code === 0 ? resolve(said) : reject(new Error(`\`${command}\` ended with ${code}`))));
  });
}

async function start(clone: Clone): Promise<void> {
  const { root, env, commands, portBase } = clone;
  const versions = await Promise.all(['node', 'npm'].map((command) => run(command, ['--version'], { cwd: root, env })));
  console.log(`Started by Node ${versions[0]} and npm ${versions[1]}: what the system has`);
  const startedAt = performance.now();
  const said = await inShell(clone, `${commands.start} --port-base ${portBase}`);
  const seconds = Math.round((performance.now() - startedAt) / 1000);
  const launcher = /^Ready after (\d+) s/m.exec(said)?.[1];
  const own = await run(join(root, 'node_modules', '.bin', 'node'), ['--version'], { cwd: root, env });
  console.log(`Ready ${seconds} s after \`npm start\`, ${launcher} s of them once installed and built; the services run on Node ${own}`);
}

async function putLeadIn({ root, runDir, env }: Clone): Promise<void> {
  const endpoints = readJsonFile<Endpoints>(runPaths(runDir).endpoints);
  if (endpoints === undefined) throw new Error('the instance has no endpoints.json');
  const givenAt = Date.now();
  const { status, body } = await postAsReadme(root, runDir, env);
  if (status !== 202) throw new Error(`the README's curl was answered ${status}: ${JSON.stringify(body)}`);
  const { acceptedAt, inCrmAt, inChatAt } = await arrivalOf(endpoints, String(body.event_id));
  const after = (from: number): string =>
    `in the sandbox CRM ${Date.parse(inCrmAt) - from} ms, in the chat ${Date.parse(inChatAt) - from} ms`;
  console.log(`The README's curl was answered 202, lead ${String(body.lead_ref)}`);
  console.log(`  ${after(Date.parse(acceptedAt))} after it was accepted`);
  console.log(`  ${after(givenAt)} after the README's commands were given`);
}

/** Everything that runs for the instance: what its launcher has recorded, the launcher, and all that descends from it. */
function everyProcess({ runDir }: Clone): ProcessIdentity[] {
  const launcher = readJsonFile<ProcessIdentity>(runPaths(runDir).lock);
  const state = readJsonFile<RunState>(runPaths(runDir).state);
  if (launcher === undefined || state === undefined || state.children.length === 0)
    throw new Error('the instance has recorded no processes');
  const family = familyOf(launcher.pid);
  const sum = (of: 'rssKb' | 'pssKb'): string => `${Math.round(family.reduce((kb, member) => kb + member[of], 0) / 1024)} MB`;
  console.log(`Children: ${state.children.map(({ name }) => name).join(', ')}`);
  const apart = state.composeProject === undefined ? '' : ', without the containers';
  if (family.length === 0) console.log('Resident memory: not known on a system without /proc');
  else console.log(`Resident memory of ${family.length} processes${apart}: ${sum('rssKb')} RSS, ${sum('pssKb')} PSS`);
  const identities = [launcher, ...state.children.map(({ identity }) => identity), ...family.map(({ identity }) => identity)];
  return [...new Map(identities.map((identity) => [`${identity.pid} ${identity.startMark}`, identity])).values()];
}

/** Stops the instance. Throws, naming them, when processes or ports are left. */
async function stop(clone: Clone, processes: readonly ProcessIdentity[]): Promise<void> {
  const { root, commands, portBase } = clone;
  await inShell(clone, commands.stop);
  const running = processes.filter(isRunning).map(({ pid }) => `process ${pid}`);
  const strays = startedFrom(root).map((command) => `process ${command}`);
  const ports = Array.from({ length: portCount }, (_, at) => portBase + at);
  const taken = await Promise.all(ports.map((port) => portTaken(port)));
  const open = ports.filter((_, at) => taken[at]).map((port) => `port ${port}`);
  const left = [...running, ...strays, ...open];
  if (left.length > 0) throw new Error(`\`npm stop\` left ${left.join(', ')}`);
  console.log(`Stopped: none of ${processes.length} processes and no port from ${portBase} to ${ports.at(-1)} is left`);
}

const clone = await cloned();
const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/** Nothing where no launcher is: a start that failed has stopped what it had started. */
const leave = async (): Promise<void> => {
  if (existsSync(runPaths(clone.runDir).lock)) await inShell(clone, clone.commands.stop).catch(() => undefined);
};
for (const signal of signals) process.once(signal, () => void leave().finally(() => process.exit(1)));
try {
  await start(clone);
  await putLeadIn(clone);
  await stop(clone, everyProcess(clone));
  rmSync(clone.folder, { recursive: true, force: true });
} catch (error) {
  console.error(`\nMissing at first sight: ${(error as Error).message}`);
  await leave();
  console.error(`The clone and its logs are left in ${clone.root}`);
  process.exitCode = 1;
}

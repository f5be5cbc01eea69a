import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Connections, type Endpoints, type InfraPart, type RunState, runPaths, writeJsonFile } from '#testkit';
import { checkSiteApart } from './check-site-apart.js';
import { endpointsOf } from './endpoints.js';
import { callersEnvironment, type Surroundings } from './environment.js';
import { infrastructure, infrastructurePorts, stopCompose } from './infrastructure.js';
import type { StartOptions } from './options.js';
import { type Ports, portsFrom, requireFreePorts, type Service, services } from './ports.js';
import { claimRunDir, forgetEndpoints, recordedState, releaseRunDir } from './run-dir.js';
import type { Say } from './say.js';
import { ensureSecrets } from './secrets.js';
import { runJob, serviceProgram } from './services.js';
import { Supervisor } from './supervisor.js';
import { whereThingsAre } from './where-things-are.js';

/** Children of a later stage are stopped before those of an earlier one. */
const stages = { postgres: 0, kafka: 1, registry: 1, sandbox: 2, services: 3 } as const;

/** A running instance: everything that one `npm start` owns. */
export class Instance {
  private readonly state: RunState;
  private readonly supervisor: Supervisor;
  private readonly aborted = new AbortController();
  private endpoints: (() => Endpoints) | undefined;
  private claimed = false;

  constructor(
    private readonly options: StartOptions,
    private readonly root: string,
    private readonly say: Say,
  ) {
    this.state = { portBase: options.portBase, children: [] };
    this.supervisor = new Supervisor({
      holdDir: runPaths(options.runDir).hold,
      onceDir: runPaths(options.runDir).once,
      say,
      onChange: (children) => {
        this.state.children = children;
        this.saveState();
        this.publishEndpoints();
      },
    });
  }

  /** Starts everything and returns once all of it is ready. Throws, with the reason in plain words, when a part fails; `stop` is still the caller's. */
  async start(): Promise<void> {
    const startedAt = performance.now();
    const { runDir, config, portBase } = this.options;
    if (!existsSync(config)) throw new Error(`there is no site file ${config}: name another one with --config FILE`);
    await claimRunDir(runDir);
    this.claimed = true;
    const ports = portsFrom(portBase);
    await this.requireFreePorts({ ...servicePorts(ports), ...infrastructurePorts(ports) });
    const secretsDir = runPaths(runDir).secrets;
    const { sourceKeyHash, ...secrets } = ensureSecrets(secretsDir, this.root);
    const around = { ports, siteFile: config, secretsDir, sourceKeyHash, auditHead: runPaths(runDir).auditHead };
    await checkSiteApart(around);
    const connections = await this.startInfrastructure(around);
    await Promise.all(services.map((service) => this.startService(service, { ...around, connections })));
    const endpoints = (): Endpoints => endpointsOf({ ports, connections, ...secrets, pidOf: (app) => this.supervisor.pid(app) });
    this.endpoints = endpoints;
    this.publishEndpoints();
    this.say(`Ready after ${Math.round((performance.now() - startedAt) / 1000)} s\n`);
    for (const line of [...whereThingsAre(endpoints(), runDir), '']) this.say(line);
  }

  /**
   * Throws when a port is taken. Containers that a killed launcher of this directory left behind hold theirs still, and are stopped for it: their
   * data stay, and whether they are wanted again, and on which ports, is this start's to say.
   */
  private async requireFreePorts(ports: Record<string, number>): Promise<void> {
    const project = recordedState(this.options.runDir)?.composeProject;
    try {
      await requireFreePorts(ports);
    } catch (taken) {
      if (project === undefined) throw taken;
      this.say('Stopping the containers that an earlier start left behind');
      // Without an engine they are gone, and the port is another program's.
      await stopCompose(this.root, project, { forget: false }).catch(() => undefined);
      await requireFreePorts(ports);
    }
  }

  /** Starts what is missing of the infrastructure, and prepares each part as soon as it is there. */
  private async startInfrastructure(around: Omit<Surroundings, 'connections'>): Promise<Connections> {
    const { options, root, say, supervisor } = this;
    const job = async (name: string, connections: Connections): Promise<void> => {
      const surroundings = { ...around, connections };
      await runJob(name, { root, logDir: runPaths(options.runDir).logs, surroundings, signal: this.aborted.signal });
      say(`  ${name}: done`);
    };
    let migrated: Promise<void> | undefined;
    const connections = await infrastructure({
      root,
      runDir: options.runDir,
      ports: around.ports,
      progress: say,
      run: async (program) => {
        await supervisor.start(program, stages[program.name as InfraPart]);
        say(`  ${program.name} is ready`);
      },
      runOnce: (program) => supervisor.runOnce(program),
      signal: this.aborted.signal,
      onDatabase: (databaseUrl) => {
        migrated = job('migrate', { databaseUrl, kafkaBrokers: '', schemaRegistry: '' });
        // Its failure is reported where it is waited for.
        migrated.catch(() => undefined);
      },
      onCompose: (project) => {
        this.state.composeProject = project;
        this.saveState();
      },
    });
    await migrated;
    await Promise.all(['topics apply', 'schemas apply'].map((name) => job(name, connections)));
    return connections;
  }

  private async startService(service: Service, surroundings: Surroundings): Promise<void> {
    const program = serviceProgram(service, { root: this.root, logDir: runPaths(this.options.runDir).logs, surroundings });
    await this.supervisor.start(program, service === 'sandbox' ? stages.sandbox : stages.services);
    this.say(`  ${service} is ready`);
  }

  /** Puts three sample leads in through both doors and prints what becomes of them. A failure is told and changes nothing. */
  async showSamples(): Promise<void> {
    const child = spawn(process.execPath, [join(this.root, 'dist', 'scripts', 'samples.js'), runPaths(this.options.runDir).endpoints], {
      env: callersEnvironment(),
      stdio: ['ignore', 'pipe', 'pipe'],
      signal: this.aborted.signal,
    });
    let rest = '';
    const onText = (text: Buffer): void => {
      const lines = `${rest}${text.toString()}`.split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) this.say(line);
    };
    child.stdout.on('data', onText);
    child.stderr.on('data', onText);
    await new Promise((resolve) => {
      child.once('error', resolve);
      child.once('close', resolve);
    });
  }

  /** Stops everything that this instance started, in order, and nothing else. */
  async stop(): Promise<void> {
    this.aborted.abort();
    await this.supervisor.stop();
    if (this.state.composeProject !== undefined) await stopCompose(this.root, this.state.composeProject, { forget: false });
    if (!this.claimed) return;
    this.endpoints = undefined;
    forgetEndpoints(this.options.runDir);
    releaseRunDir(this.options.runDir);
  }

  /** Ends every child at once. Containers are not waited for: they go on until `npm stop` or the next start, which find them in the state file. */
  kill(): void {
    this.supervisor.kill();
    const { runDir } = this.options;
    if (this.state.composeProject !== undefined) this.say(`Containers still run: \`npm stop -- --run-dir ${runDir}\` stops them`);
    if (!this.claimed) return;
    this.endpoints = undefined;
    forgetEndpoints(runDir);
    releaseRunDir(runDir);
  }

  private saveState(): void {
    if (this.claimed) writeJsonFile(runPaths(this.options.runDir).state, this.state);
  }

  private publishEndpoints(): void {
    if (this.endpoints !== undefined) writeJsonFile(runPaths(this.options.runDir).endpoints, this.endpoints());
  }
}

const servicePorts = ({ intake, sandbox, operator, internal }: Ports): Record<string, number> => ({
  intake,
  sandbox,
  operator,
  ...Object.fromEntries(Object.entries(internal).map(([service, port]) => [`${service} metrics`, port])),
});

import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { freePortRange } from '../process/ports.js';
import { type Program, type RunningProgram, startProgram, stopProcess } from '../process/program.js';
import { eventually } from '../process/wait.js';
import { cacheDir } from '../project-root.js';
import { uniqueName } from '../unique.js';
import { classArchives } from './class-archives.js';
import { embeddedJars } from './downloads.js';
import { javaCommand } from './java.js';
import { newClusterId, prepareKafka, type SaslAccount } from './kafka.js';

/** Several Kafka nodes of one test's own, each of them broker and controller; their ids count from 1. */
export interface KafkaCluster {
  /** "host:port" of each node, the first one's first. */
  readonly brokers: readonly string[];
  /** The same nodes' doors for clients with an account; empty where there is none. */
  readonly saslBrokers: readonly string[];
  /** SIGKILL; returns when the process has ended. The data stay. */
  kill(node: number): Promise<void>;
  /** Starts a killed node on its data, and returns when it answers. */
  start(node: number): Promise<void>;
  /** Kills all nodes and removes their data. */
  stop(): Promise<void>;
}

const readyLimitMs = 120_000;

export interface ClusterOptions {
  accessLists?: boolean;
  saslAccount?: SaslAccount;
}

/**
 * Starts a cluster of so many nodes on fresh data. Topics have as many replicas as there are nodes unless they are made with fewer, and one
 * less must have what is acknowledged. With `accessLists` a list can refuse its clients, who are `User:ANONYMOUS`; with `saslAccount` there are
 * doors that ask for that account beside those that ask for none. Ends with this process. Throws when a node does not come up, and leaves
 * none behind then.
 */
export async function startCluster(nodes: number, options: ClusterOptions = {}): Promise<KafkaCluster> {
  const dir = cacheDir('clusters', uniqueName('cluster'));
  const programs = await prepare(dir, nodes, options);
  const cluster = new EmbeddedCluster(dir, programs);
  try {
    await Promise.all(programs.map((_, at) => cluster.start(at + 1)));
  } catch (error) {
    await cluster.stop();
    throw error;
  }
  return cluster;
}

interface Node {
  program: Program;
  port: number;
  saslPort: number | undefined;
}

async function prepare(dir: string, nodes: number, { accessLists = false, saslAccount }: ClusterOptions): Promise<Node[]> {
  const java = javaCommand();
  const progress = (): void => undefined;
  const jars = await embeddedJars(progress);
  const archives = await classArchives({ java, jars, progress, runOnce });
  const base = await freePortRange(3 * nodes);
  const controllerPorts = Array.from({ length: nodes }, (_, at) => base + nodes + at);
  const id = newClusterId();
  return Promise.all(
    controllerPorts.map(async (controllerPort, at) => {
      const home = join(dir, `node-${at + 1}`);
      const saslPort = saslAccount === undefined ? undefined : base + 2 * nodes + at;
      const program = await prepareKafka({
        dir: home,
        logFile: join(home, 'log'),
        java,
        classPath: jars.kafkaClassPath,
        jvmOptions: archives.kafka,
        port: base + at,
        controllerPort,
        accessLists,
        ...(saslAccount === undefined || saslPort === undefined ? {} : { sasl: { ...saslAccount, port: saslPort } }),
        cluster: { id, node: at + 1, controllerPorts },
      });
      return { program, port: base + at, saslPort };
    }),
  );
}

const answers = ({ name, ready, logFile }: Program): Promise<boolean> =>
  eventually(`${name} to answer (log: ${logFile})`, ready, { timeoutMs: readyLimitMs });

async function runOnce(program: Program): Promise<void> {
  const { identity } = await startProgram(program);
  await answers(program);
  await stopProcess(identity, program.stopSignal, program.stopGraceMs);
}

class EmbeddedCluster implements KafkaCluster {
  readonly brokers: readonly string[];
  readonly saslBrokers: readonly string[];
  private readonly running = new Map<number, RunningProgram>();
  private readonly atExit = (): void => {
    for (const { child } of this.running.values()) child.kill('SIGKILL');
  };

  constructor(
    private readonly dir: string,
    private readonly nodes: readonly Node[],
  ) {
    this.brokers = nodes.map(({ port }) => `127.0.0.1:${port}`);
    this.saslBrokers = nodes.flatMap(({ saslPort }) => (saslPort === undefined ? [] : [`127.0.0.1:${saslPort}`]));
    process.once('exit', this.atExit);
  }

  async start(node: number): Promise<void> {
    const program = this.nodes[node - 1]?.program;
    if (program === undefined) throw new Error(`there is no node ${node}`);
    this.running.set(node, await startProgram(program));
    await answers(program);
  }

  async kill(node: number): Promise<void> {
    const running = this.running.get(node);
    if (running === undefined) throw new Error(`node ${node} does not run`);
    await stopProcess(running.identity, 'SIGKILL', 0);
    this.running.delete(node);
  }

  async stop(): Promise<void> {
    await Promise.all([...this.running.keys()].map((node) => this.kill(node)));
    process.off('exit', this.atExit);
    rmSync(this.dir, { recursive: true, force: true });
  }
}

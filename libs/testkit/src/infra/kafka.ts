import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Program } from '../process/program.js';
import { jvmEnvironment, jvmFlags } from './java.js';

export interface KafkaOptions {
  /** Configuration, log4j settings and data. */
  dir: string;
  port: number;
  controllerPort: number;
  java: string;
  classPath: string;
  /** Further options of the broker's JVM. */
  jvmOptions: string[];
  logFile: string;
  /** Place among several nodes; default: the only one. */
  cluster?: ClusterPlace;
  /** Asks access control lists who may do what. What no list speaks of is allowed to everybody. Default: nobody is asked. */
  accessLists?: boolean;
  /** A second door, for clients that say who they are. Default: none. */
  sasl?: SaslDoor;
  /** Ends the preparation. */
  signal?: AbortSignal;
}

/** Account of clients over SASL PLAIN without TLS. */
export interface SaslAccount {
  username: string;
  password: string;
  /** A connection must show its account again before this, else the broker closes it. */
  sessionMs: number;
}

export interface SaslDoor extends SaslAccount {
  port: number;
}

export interface ClusterPlace {
  /** Of all nodes, base64url of 16 bytes. */
  id: string;
  /** From 1. */
  node: number;
  /** Of all nodes, the first one's first. */
  controllerPorts: readonly number[];
}

// A node is broker and controller. Everything has as many replicas as there are nodes, all but one of which must have what is acknowledged;
// no wait before a group's first rebalance; short sessions allowed so that tests that kill a consumer need not wait 30 s for its partitions,
// nor a killed broker for its own; no topic by accident.
const serverProperties = ({ dir, port, controllerPort, cluster, accessLists, sasl }: KafkaOptions): string => {
  const controllers = cluster?.controllerPorts ?? [controllerPort];
  const replicas = controllers.length;
  const inSync = Math.max(1, replicas - 1);
  const doors = [`PLAINTEXT://127.0.0.1:${port}`, ...(sasl === undefined ? [] : [`SASL_PLAINTEXT://127.0.0.1:${sasl.port}`])].join(',');
  return `process.roles=broker,controller
node.id=${cluster?.node ?? 1}
controller.quorum.voters=${controllers.map((controller, at) => `${at + 1}@127.0.0.1:${controller}`).join(',')}
listeners=${doors},CONTROLLER://127.0.0.1:${controllerPort}
advertised.listeners=${doors}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT
inter.broker.listener.name=PLAINTEXT
controller.listener.names=CONTROLLER
log.dirs=${join(dir, 'data')}
auto.create.topics.enable=false
num.partitions=1
default.replication.factor=${replicas}
min.insync.replicas=${inSync}
offsets.topic.replication.factor=${replicas}
offsets.topic.num.partitions=5
transaction.state.log.replication.factor=${replicas}
transaction.state.log.min.isr=${inSync}
transaction.state.log.num.partitions=5
share.coordinator.state.topic.replication.factor=${replicas}
share.coordinator.state.topic.min.isr=${inSync}
group.initial.rebalance.delay.ms=0
group.min.session.timeout.ms=500
metadata.max.idle.interval.ms=0
broker.heartbeat.interval.ms=1000
broker.session.timeout.ms=4000
num.network.threads=2
num.io.threads=4
num.recovery.threads.per.data.dir=2
background.threads=2
log.cleaner.threads=1
log.cleaner.dedupe.buffer.size=16777216
log.index.size.max.bytes=524288
${accessLists ? authorizer : ''}${sasl === undefined ? '' : saslDoor(sasl)}`;
};

const saslDoor = ({ username, password, sessionMs }: SaslDoor): string => `sasl.enabled.mechanisms=PLAIN
listener.name.sasl_plaintext.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required user_${username}="${password}";
connections.max.reauth.ms=${sessionMs}
`;

const authorizer = `authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
allow.everyone.if.no.acl.found=true
`;

const log4j = `rootLogger.level=WARN
rootLogger.appenderRef.out.ref=out
appender.out.type=Console
appender.out.name=out
appender.out.layout.type=PatternLayout
appender.out.layout.pattern=[%d] %p %m (%c)%n
logger.server.name=kafka.server.KafkaRaftServer
logger.server.level=INFO
`;

export const newClusterId = (): string => randomBytes(16).toString('base64url');

/** Writes configuration, formats the data folder on its first use, and gives the broker as a program. Throws when formatting fails. */
export async function prepareKafka(options: KafkaOptions): Promise<Program> {
  const { dir, java, classPath, jvmOptions, logFile, port } = options;
  mkdirSync(dir, { recursive: true });
  const properties = join(dir, 'server.properties');
  writeFileSync(properties, serverProperties(options));
  writeFileSync(join(dir, 'log4j2.properties'), log4j);
  const base = [`-Dlog4j2.configurationFile=${join(dir, 'log4j2.properties')}`, '-Dlog4j2.disableJmx=true', '-cp', classPath];
  if (!existsSync(join(dir, 'data', 'meta.properties'))) await format(options, base, properties);
  return {
    name: options.cluster === undefined ? 'kafka' : `kafka ${options.cluster.node}`,
    command: java,
    args: [...jvmFlags(320), ...jvmOptions, ...base, 'kafka.Kafka', properties],
    env: jvmEnvironment,
    cwd: dir,
    logFile,
    stopSignal: 'SIGTERM',
    stopGraceMs: 15_000,
    ready: () => kafkaAnswers(port),
  };
}

async function format({ dir, java, jvmOptions, signal, cluster }: KafkaOptions, base: string[], properties: string): Promise<void> {
  // Kept, so that formatting that was cut short can be repeated, even beside one that still runs.
  const idFile = join(dir, 'cluster-id');
  if (!existsSync(idFile)) writeFileSync(idFile, cluster?.id ?? newClusterId());
  const archive = jvmOptions.filter((option) => option.startsWith('-XX:SharedArchiveFile='));
  // The id may begin with a dash: only the form with "=" is safe.
  const clusterId = `--cluster-id=${readFileSync(idFile, 'utf8')}`;
  const tool = ['kafka.tools.StorageTool', 'format', clusterId, '--ignore-formatted', '-c', properties];
  await promisify(execFile)(java, [...jvmFlags(128), ...archive, ...base, ...tool], { signal }).catch((error: Error) => {
    throw new Error(`Kafka's data folder could not be formatted: ${error.message}`);
  });
}

/** True when a broker answers an ApiVersions request: the port alone opens earlier than the broker serves. */
export function kafkaAnswers(port: number, host = '127.0.0.1'): Promise<boolean> {
  // Length 10, API 18 (ApiVersions) version 0, correlation id 1, no client id.
  const request = Buffer.from([0, 0, 0, 10, 0, 18, 0, 0, 0, 0, 0, 1, 0xff, 0xff]);
  return new Promise((resolve) => {
    const socket = connect({ port, host });
    const done = (answer: boolean): void => {
      socket.destroy();
      resolve(answer);
    };
    socket.setTimeout(1_000, () => done(false));
    socket.once('connect', () => socket.write(request));
    socket.once('data', () => done(true));
    socket.once('error', () => done(false));
    socket.once('close', () => done(false));
  });
}

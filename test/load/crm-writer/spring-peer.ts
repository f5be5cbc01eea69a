import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { projectRoot } from '#testkit';
import { cpuSecondsOf, type WriterPlace } from './writer-process.js';

export interface BuiltPeer {
  /** Path of the `java` that runs it. */
  java: string;
  classPath: string;
}

export interface PeerPlace {
  place: WriterPlace;
  destination: string;
  /** Kafka consumer group. */
  group: string;
  /** Calls in flight at most. */
  concurrency: number;
  crmUrl: string;
}

/** Enough that no collection is forced by a small heap; the collector with the least work per allocation. */
const jvmFlags = ['-Xms512m', '-Xmx512m', '-XX:+UseParallelGC', '-XX:-UsePerfData'];
/** Records of one batch at most, for each of the consumers. BENCH_PEER_BATCH tries another size. */
const batch = Number(process.env.BENCH_PEER_BATCH ?? 500);

/** The Spring Kafka batch service of test/load/spring-peer as a benchmark sees it. */
export class SpringPeer {
  private constructor(
    private readonly child: ChildProcess,
    private readonly said: AsyncIterator<string>,
    /** What it runs on, in words. */
    readonly runtime: string,
  ) {}

  /** Returns when it has all partitions and is paused. */
  static async start({ java, classPath }: BuiltPeer, { place, destination, group, concurrency, crmUrl }: PeerPlace): Promise<SpringPeer> {
    const database = new URL(place.databaseUrl);
    const jdbc = `jdbc:postgresql://${database.host}${database.pathname}?user=${database.username}&password=${database.password}`;
    const log = join(place.folder, 'peer.log');
    const child = spawn(java, [...jvmFlags, '-cp', classPath, 'peer.SpringPeer'], {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: {
        ...process.env,
        PEER_JDBC_URL: jdbc,
        PEER_LOG: log,
        PEER_BROKERS: place.brokers,
        PEER_GROUP: group,
        PEER_BATCH: String(batch),
        PEER_DESTINATION: destination,
        PEER_CRM_URL: crmUrl,
        PEER_SCHEMAS: join(projectRoot(), 'schemas'),
        PEER_IN_FLIGHT: String(concurrency),
      },
    });
    if (child.stdout === null) throw new Error('the peer was started without a pipe');
    const said = createInterface(child.stdout)[Symbol.asyncIterator]();
    return new SpringPeer(child, said, await paused(said));
  }

  resume(): void {
    this.child.stdin?.write('resume\n');
  }

  /** Returns when no consumer takes anything any more. */
  async pause(): Promise<void> {
    this.child.stdin?.write('pause\n');
    await paused(this.said);
  }

  /** CPU seconds so far, user and system. */
  cpuSeconds(): number {
    return cpuSecondsOf(this.child);
  }

  /** Ends it in order. */
  async stop(): Promise<void> {
    const exit = once(this.child, 'exit');
    this.child.stdin?.end();
    await exit;
  }
}

/** What follows `paused` on the line that says so, which is the only one that the peer prints. Throws when the peer has ended. */
async function paused(said: AsyncIterator<string>): Promise<string> {
  const line = await said.next();
  if (line.done === true) throw new Error('the peer has ended; peer.log in the folder of the benchmark says why');
  return line.value.slice('paused '.length);
}

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Program, RecordedChild } from '#testkit';
import { Stopped, Supervised } from './supervised.js';

export interface SupervisorOptions {
  holdDir: string;
  onceDir: string;
  say(line: string): void;
  /** Called after every start of a child, with all that were started, in that order. */
  onChange(children: RecordedChild[]): void;
}

/** Owns every child of an instance: keeps each running, and stops them in the reverse order of their stages. */
export class Supervisor {
  private readonly children: { child: Supervised; stage: number }[] = [];
  private stopped = false;

  constructor(private readonly options: SupervisorOptions) {
    mkdirSync(options.holdDir, { recursive: true });
  }

  /** Starts a program and waits until it is ready. Children of one stage are stopped together, those of later stages before it. Throws when it fails, and Stopped once all are stopped. */
  async start(program: Program, stage: number): Promise<void> {
    if (this.stopped) throw new Stopped();
    const { holdDir, onceDir, say, onChange } = this.options;
    const holdFile = join(holdDir, program.name);
    const onceFile = join(onceDir, program.name);
    const child = new Supervised(program, { say, holdFile, onceFile, onChange: () => onChange(this.recorded()) });
    this.children.push({ child, stage });
    await child.start();
  }

  /** Starts a program, waits until it is ready, and stops it. Throws when it fails. */
  async runOnce(program: Program): Promise<void> {
    try {
      await this.start(program, 0);
    } finally {
      const entry = this.children.find(({ child }) => child.program === program);
      await entry?.child.stop();
      if (entry !== undefined) this.children.splice(this.children.indexOf(entry), 1);
    }
  }

  /** Process of a child, undefined when there is none of that name. */
  pid(name: string): number | undefined {
    return this.children.find(({ child }) => child.program.name === name)?.child.process?.pid;
  }

  /** Asks all to end, later stages first, and waits for it. */
  async stop(): Promise<void> {
    this.stopped = true;
    const stages = [...new Set(this.children.map(({ stage }) => stage))].sort((a, b) => b - a);
    for (const stage of stages) await Promise.all(this.children.filter((one) => one.stage === stage).map(({ child }) => child.stop()));
  }

  /** Ends all at once. */
  kill(): void {
    this.stopped = true;
    for (const { child } of this.children) child.kill();
  }

  private recorded(): RecordedChild[] {
    return this.children.flatMap(({ child: { process: identity, program } }) => {
      const { name, stopSignal, stopGraceMs } = program;
      return identity === undefined ? [] : [{ name, identity, stopSignal, stopGraceMs }];
    });
  }
}

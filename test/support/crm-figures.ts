import { pause } from '#testkit';
import { ask, CrmWitness } from '../tour/crm-witness.js';
import type { CrmStats } from './sandbox.js';

/** What a CRM of the sandbox has counted at one moment. */
export interface Reading {
  /** Milliseconds since the readings began. */
  atMs: number;
  /** Requests whose key never came before. */
  first: number;
  /** Requests whose key came before. */
  again: number;
}

/** A CRM of the sandbox whose counts are read all the while, so that they can be told apart by time. */
export class CrmFigures extends CrmWitness {
  readonly readings: Reading[] = [];
  private reading = false;
  private loop: Promise<void> = Promise.resolve();

  constructor(private readonly crmUrl: string) {
    super(crmUrl);
  }

  stats(): Promise<CrmStats & { checks: number }> {
    return ask(`${this.crmUrl}/stats`);
  }

  /** Reads the counts ten times a second until `stop`. */
  follow(): void {
    this.reading = true;
    this.loop = this.read();
  }

  async stop(): Promise<void> {
    this.reading = false;
    await this.loop;
  }

  /** Requests that came in `(fromMs, toMs]`, as far as the readings tell moments apart. */
  between(fromMs: number, toMs: number): { first: number; again: number; all: number } {
    const [from, to] = [this.at(fromMs), this.at(toMs)];
    const [first, again] = [to.first - from.first, to.again - from.again];
    return { first, again, all: first + again };
  }

  private at(ms: number): Reading {
    return this.readings.findLast(({ atMs }) => atMs <= ms) ?? { atMs: 0, first: 0, again: 0 };
  }

  private async read(): Promise<void> {
    const begun = performance.now();
    while (this.reading) {
      const minutes = await ask<{ first: number; again: number }[]>(`${this.crmUrl}/minutes`);
      const sum = (of: 'first' | 'again'): number => minutes.reduce((total, minute) => total + minute[of], 0);
      this.readings.push({ atMs: performance.now() - begun, first: sum('first'), again: sum('again') });
      await pause(100);
    }
  }
}

import { EventEmitter } from 'node:events';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { AreaTools } from '../area.js';
import { Changes } from './changes.js';
import { liveArea } from './live.controller.js';

class Raw extends EventEmitter {
  written: string[] = [];
  ended = false;
  writableLength = 0;
  constructor(readonly destroyed: boolean) {
    super();
  }
  writeHead(): void {}
  write(text: string): void {
    this.written.push(text);
  }
  end(): void {
    this.ended = true;
    this.emit('close');
  }
}

describe('a stream', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());
  const open = async (raw: Raw) => {
    const changes = new Changes();
    const { controllers = [] } = await liveArea({ env: {}, owners: new Map() } as unknown as AreaTools);
    const [Live] = controllers as unknown as [new (changes: Changes) => { live(reply: object): void }];
    new Live(changes).live({ hijack: () => undefined, raw });
    return changes;
  };

  it('is not begun for whoever has left while it was looked up who asks', async () => {
    const raw = new Raw(true);
    expect((await open(raw)).listened).toBe(false);
    expect(raw.written).toEqual([]);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('ends after a quarter of an hour, and leaves nothing behind', async () => {
    const raw = new Raw(false);
    const changes = await open(raw);
    jest.advanceTimersByTime(15 * 60_000 - 1);
    expect({ listened: changes.listened, ended: raw.ended }).toEqual({ listened: true, ended: false });
    jest.advanceTimersByTime(1);
    expect({ listened: changes.listened, ended: raw.ended }).toEqual({ listened: false, ended: true });
    expect(jest.getTimerCount()).toBe(0);
  });
});

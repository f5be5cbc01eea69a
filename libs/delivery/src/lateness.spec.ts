import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Lateness } from './lateness.js';

describe('how late a process takes up what is due', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  const behind = (lateness: Lateness) => Object.fromEntries(lateness.behind());

  it('is the greatest of what was seen lately, by destination, and nothing where nothing was late', () => {
    const lateness = new Lateness();
    expect(behind(lateness)).toEqual({});
    for (const ms of [100, 4_000, 900]) lateness.note('crm', ms);
    lateness.note('chat', 20);
    lateness.note('calm', -3);
    expect(behind(lateness)).toEqual({ crm: 4_000, chat: 20 });
  });

  it('is forgotten once as much time has passed without any', () => {
    const lateness = new Lateness();
    lateness.note('crm', 9_000);
    jest.advanceTimersByTime(14_000);
    lateness.note('crm', 2_000);
    expect(behind(lateness)).toEqual({ crm: 9_000 });
    jest.advanceTimersByTime(2_000);
    lateness.note('crm', 1_000);
    expect(behind(lateness)).toEqual({ crm: 9_000 });
    jest.advanceTimersByTime(16_000);
    expect(behind(lateness)).toEqual({ crm: 1_000 });
    jest.advanceTimersByTime(60_000);
    expect(behind(lateness)).toEqual({});
  });

  it('is never more than a minute: what is later may have lost its record', () => {
    const lateness = new Lateness();
    lateness.note('crm', 3_600_000);
    expect(behind(lateness)).toEqual({ crm: 60_000 });
  });
});

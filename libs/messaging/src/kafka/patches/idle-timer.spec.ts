import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import RequestQueue from 'kafkajs/src/network/requestQueue/index.js';
import { stopIdleTimer } from './idle-timer.js';

const silent = { debug: () => undefined, warn: () => undefined };
const options = {
  maxInFlightRequests: 1,
  requestTimeout: 1_000,
  enforceRequestTimeout: false,
  clientId: 'c',
  broker: 'b:1',
  logger: silent,
};

describe('the idle timer of kafkajs', () => {
  beforeEach(() => {
    jest.useFakeTimers();
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  it('is still the fault that the patch is for', () => {
    const queue = new RequestQueue(options);
    queue.scheduleCheckPendingRequests();
    jest.advanceTimersByTime(50);
    expect(jest.getTimerCount()).toBe(1);
    queue.destroy();
  });

  it('is not armed while nothing is pending', () => {
    stopIdleTimer();
    const queue = new RequestQueue(options);
    queue.scheduleCheckPendingRequests();
    expect(jest.getTimerCount()).toBe(0);
  });

  it('still sends what is pending when a throttle ends', () => {
    stopIdleTimer();
    const queue = new RequestQueue(options);
    queue.throttledUntil = Date.now() + 500;
    const sent: string[] = [];
    const entry = { correlationId: 1, apiKey: 0, apiName: 'Produce', apiVersion: 7, resolve: () => undefined, reject: () => undefined };
    queue.push({ entry, expectResponse: true, sendRequest: () => sent.push('sent') });
    jest.advanceTimersByTime(490);
    expect(sent).toEqual([]);
    jest.advanceTimersByTime(20);
    expect(sent).toEqual(['sent']);
    jest.advanceTimersByTime(1_000);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('still gives up a request whose answer does not come', () => {
    stopIdleTimer();
    const queue = new RequestQueue({ ...options, enforceRequestTimeout: true });
    queue.scheduleRequestTimeoutCheck();
    const failures: string[] = [];
    const entry = {
      ...{ correlationId: 1, apiKey: 0, apiName: 'Produce', apiVersion: 7 },
      resolve: () => undefined,
      reject: ({ name }: Error) => failures.push(name),
    };
    queue.push({ entry, expectResponse: true, sendRequest: () => undefined });
    jest.advanceTimersByTime(900);
    expect(failures).toEqual([]);
    jest.advanceTimersByTime(2_000);
    expect(failures).toEqual(['KafkaJSRequestTimeoutError']);
    queue.destroy();
    expect(jest.getTimerCount()).toBe(0);
  });
});

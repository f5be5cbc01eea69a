import RequestQueue from 'kafkajs/src/network/requestQueue/index.js';

const original = RequestQueue.prototype.scheduleCheckPendingRequests;

/**
 * A connection's request queue starts with "throttled until -1" and, after every answer, arms a timer for that moment minus now: a negative
 * delay, which Node turns into 1 ms and warns about. The timer's own check arms the next one, so each idle connection wakes the process a
 * thousand times a second for ever. The timer has one purpose, to send what is pending later; with nothing pending there is nothing to arm,
 * and a request that arrives during a throttle arms it itself.
 */
export function stopIdleTimer(): void {
  RequestQueue.prototype.scheduleCheckPendingRequests = function scheduleCheckPendingRequests(this: RequestQueue): void {
    if (this.pending.length > 0) original.call(this);
  };
}

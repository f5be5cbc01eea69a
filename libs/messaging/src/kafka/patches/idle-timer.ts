import RequestQueue from 'kafkajs/src/network/requestQueue/index.js';

const original = RequestQueue.prototype.scheduleCheckPendingRequests;

const timeoutCheckMs = 1_000;

/**
 * A connection's request queue starts with "throttled until -1" and, after every answer, arms a timer for that moment minus now: a negative
 * delay, which Node turns into 1 ms and warns about. The timer's own check arms the next one, so each idle connection wakes the process a
 * thousand times a second for ever. The timer has one purpose, to send what is pending later; with nothing pending there is nothing to arm,
 * and a request that arrives during a throttle arms it itself.
 *
 * Each connection also looks for timed-out requests ten times a second. Time limits here are many seconds: once a second is enough.
 */
export function stopIdleTimer(): void {
  RequestQueue.prototype.scheduleCheckPendingRequests = function scheduleCheckPendingRequests(this: RequestQueue): void {
    if (this.pending.length > 0) original.call(this);
  };
  RequestQueue.prototype.scheduleRequestTimeoutCheck = function scheduleRequestTimeoutCheck(this: RequestQueue): void {
    if (!this.enforceRequestTimeout) return;
    this.destroy();
    const check = (): void => {
      for (const request of this.inflight.values()) if (Date.now() - request.sentAt > request.requestTimeout) request.timeoutRequest();
      if (!this.isConnected()) this.destroy();
    };
    this.requestTimeoutIntervalId = setInterval(check, Math.min(this.requestTimeout, timeoutCheckMs));
  };
}

import { get } from 'node:http';

/**
 * True when an http:// URL answers with 2xx within the time. Without `fetch`, whose first call costs a process twenty megabytes: the launcher asks
 * for nothing else and stays.
 */
export function answersOk(url: string, timeoutMs = 2_000): Promise<boolean> {
  return new Promise((resolve) => {
    const request = get(url, { agent: false, signal: AbortSignal.timeout(timeoutMs) }, (response) => {
      const { statusCode = 0 } = response;
      response.destroy();
      resolve(statusCode >= 200 && statusCode < 300);
    });
    request.once('error', () => resolve(false));
  });
}

import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { problemContentType } from '#runtime';
import { type Refusal, refusals } from './refusal.js';

/**
 * Answers on the bare connection what never became a request: no HTTP, headers that are too large or do not end. The framework's own answer is
 * no problem document.
 */
export function answerClientError(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const { problem } = refusalOf(error.code);
  const body = JSON.stringify(problem);
  const head = [
    `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}`,
    `Content-Type: ${problemContentType}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}

function refusalOf(code: string | undefined): Refusal {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return refusals.slowRequest();
  return refusals.badRequest(code === 'HPE_HEADER_OVERFLOW' ? 431 : 400);
}

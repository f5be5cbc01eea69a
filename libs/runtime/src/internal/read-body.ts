import type { IncomingMessage } from 'node:http';

export class BodyTooLarge extends Error {
  override readonly name = 'BodyTooLarge';
  readonly safeMessage = true;
}

/** The whole body as text. Throws BodyTooLarge beyond `maxBytes`, or the stream's own error when the caller goes away. */
export function readBody(request: IncomingMessage, maxBytes: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= maxBytes) chunks.push(chunk);
      else reject(new BodyTooLarge(`The body is larger than ${maxBytes} bytes`));
    });
    request.on('end', () => resolve((chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)).toString('utf8')));
    request.on('error', reject);
    request.on('close', () => reject(new Error('The caller went away')));
  });
}

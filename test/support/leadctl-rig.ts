import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { jest } from '@jest/globals';
import { CommanderError } from 'commander';
import { exitCodeOf } from '../../apps/leadctl/src/exit-codes.js';
import { createProgram } from '../../apps/leadctl/src/program.js';

export interface AskedRest {
  method?: string;
  url?: string;
  token?: string;
  body?: unknown;
}

export interface RestRig {
  /** What the REST API was asked, in its order. */
  asked: AskedRest[];
  /** Answers in their order; the last one is given again. */
  answers: { status?: number; body: unknown }[];
  printed: string;
  /** Runs leadctl against the run directory of the rig; gives its exit code. */
  run(...words: string[]): Promise<number>;
  close(): Promise<void>;
}

/** leadctl beside a REST API that answers as a test says, with a token for each demo person (`tok-viewer`, …). */
export async function openRestRig(): Promise<RestRig> {
  const server = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk) => {
      text += String(chunk);
    });
    request.on('end', () => {
      const { method, url, headers } = request;
      const token = headers.authorization?.replace('Bearer ', '');
      rig.asked.push({ method, url, token, ...(text !== '' && { body: JSON.parse(text) as unknown }) });
      const { status = 200, body } = (rig.answers.length > 1 ? rig.answers.shift() : rig.answers[0]) ?? { body: {} };
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const runDir = mkdtempSync(path.join(tmpdir(), 'run-'));
  const operator = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const operatorTokens = { viewer: 'tok-viewer', operator: 'tok-operator', approver: 'tok-approver', admin: 'tok-admin' };
  writeFileSync(path.join(runDir, 'endpoints.json'), JSON.stringify({ operator, operatorTokens }));
  jest.spyOn(process.stdout, 'write').mockImplementation(((text: unknown) => {
    rig.printed += String(text);
    return true;
  }) as never);
  const rig: RestRig = {
    asked: [],
    answers: [],
    printed: '',
    run: async (...words) => (await runWords([...words, '--run-dir', runDir])).code,
    close: async () => {
      jest.restoreAllMocks();
      await new Promise((resolve) => server.close(resolve));
      rmSync(runDir, { recursive: true });
    },
  };
  return rig;
}

/** Runs leadctl in this process; gives its exit code, and what it complained of. */
export async function runWords(words: string[]): Promise<{ code: number; said?: string }> {
  let code = 0;
  const program = createProgram((ended) => {
    code = ended;
  }, {});
  for (const command of [program, ...program.commands, ...program.commands.flatMap(({ commands }) => commands)]) {
    command.configureOutput({ writeErr: () => undefined });
  }
  try {
    await program.parseAsync(['node', 'leadctl', ...words]);
    return { code };
  } catch (error) {
    return { code: error instanceof CommanderError ? 2 : exitCodeOf(error), said: (error as Error).message };
  }
}

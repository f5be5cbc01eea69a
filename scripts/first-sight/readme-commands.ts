import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** Shell text as the README has it, each to be run with $RUN set to the run directory. */
export interface ReadmeCommands {
  /** The `npm start` that comes before the curl. */
  start: string;
  /** All that stands between it and the end of its block: puts one lead in with curl. */
  post: string;
  stop: string;
}

export interface Answer {
  status: number;
  body: Record<string, unknown>;
}

/** Cuts the commands of "Put a lead in yourself" out of the README's text. Throws when they are not there. */
export function readmeCommands(text: string): ReadmeCommands {
  const blocks = [...text.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, block]) => String(block));
  const block = blocks.find((one) => /^curl -i /m.test(one));
  const start = block?.match(/^npm start .*--detach.*$/m)?.[0];
  const stop = blocks.map((one) => one.match(/^npm stop .*"\$RUN"$/m)?.[0]).find((one) => one !== undefined);
  if (block === undefined || start === undefined || stop === undefined)
    throw new Error('README.md has no block with `npm start … --detach` and `curl -i`, or no `npm stop … "$RUN"`');
  return { start, post: block.slice(block.indexOf(start) + start.length).trim(), stop };
}

/** Puts the README's lead into the instance of `runDir` by the README's own commands, unchanged. Throws when one of them fails. */
export async function postAsReadme(root: string, runDir: string, env: NodeJS.ProcessEnv): Promise<Answer> {
  const { post } = readmeCommands(readFileSync(join(root, 'README.md'), 'utf8'));
  const { stdout } = await promisify(execFile)('sh', ['-ec', post], { cwd: root, env: { ...env, RUN: runDir }, timeout: 30_000 });
  return answerOf(stdout);
}

/** What `curl -i` printed. Throws when that is no answer with a JSON body. */
export function answerOf(printed: string): Answer {
  const [head = '', ...body] = printed.split(/\r?\n\r?\n/);
  const status = Number(/^HTTP\/\S+ (\d{3})/.exec(head)?.[1]);
  if (Number.isNaN(status)) throw new Error(`curl -i printed no HTTP answer: ${printed.slice(0, 200)}`);
  return { status, body: JSON.parse(body.join('\n\n')) as Answer['body'] };
}

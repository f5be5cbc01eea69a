import { spawn } from 'node:child_process';

export interface ProgramRun {
  command: string;
  args: readonly string[];
  cwd: string;
  env?: Record<string, string>;
  timeoutMs?: number;
}

/** Runs a program to its end and gives its standard output. Throws with both of its outputs when it ends with anything but 0 or takes too long. */
export function runProgram({ command, args, cwd, env, timeoutMs = 120_000 }: ProgramRun): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'], timeout: timeoutMs });
    let out = '';
    let errors = '';
    child.stdout.on('data', (piece: Buffer) => (out += piece.toString()));
    child.stderr.on('data', (piece: Buffer) => (errors += piece.toString()));
    child.once('error', reject);
    child.once('close', (code, signal) => {
      if (code === 0) resolve(out);
      else reject(new Error(`${command} ${args.join(' ')} ended with ${code ?? signal}\n${out}${errors}`));
    });
  });
}

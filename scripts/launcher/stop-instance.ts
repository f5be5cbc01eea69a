import { isRunning, pause } from '#testkit';
import { stopCompose } from './infrastructure.js';
import { forgetEndpoints, recordedState, releaseRunDir, runningLauncher, stopRecordedChildren } from './run-dir.js';

/**
 * Stops the instance of a directory: through its launcher where that one lives, else child by child as recorded. With `forget` the data of
 * containers goes too. True when something was stopped.
 */
export async function stopInstance(runDir: string, { root, forget }: { root: string; forget: boolean }): Promise<boolean> {
  const launcher = runningLauncher(runDir);
  if (launcher !== undefined) {
    process.kill(launcher.pid, 'SIGTERM');
    while (isRunning(launcher)) await pause(50);
  }
  const left = await stopRecordedChildren(runDir);
  const project = recordedState(runDir)?.composeProject;
  if (project !== undefined && (left > 0 || forget || launcher === undefined)) await stopCompose(root, project, { forget });
  forgetEndpoints(runDir);
  releaseRunDir(runDir);
  return launcher !== undefined || left > 0;
}

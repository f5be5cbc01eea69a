// `npm run reset [-- --run-dir DIR]`: stops the instance of that directory and removes all of its data, keys and logs.
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { basename } from 'node:path';
import { displacedDataOf, projectRoot, runPaths } from '#testkit';
import { runDirOrEnd } from './launcher/options.js';
import { stopInstance } from './launcher/stop-instance.js';

const runDir = runDirOrEnd();
const own = new Set(Object.values(runPaths(runDir)).map((path) => basename(path)));
const foreign = existsSync(runDir) ? readdirSync(runDir).filter((name) => !own.has(name)) : [];
if (foreign.length > 0) {
  console.error(`${runDir} holds what no instance wrote (${foreign.slice(0, 3).join(', ')}): nothing was removed`);
  process.exit(1);
}
const there = existsSync(runDir);
const stopped = await stopInstance(runDir, { root: projectRoot(), forget: true });
for (const dir of displacedDataOf(runPaths(runDir).data)) rmSync(dir, { recursive: true, force: true });
rmSync(runDir, { recursive: true, force: true });
console.log(there ? `${stopped ? 'Stopped the instance and removed' : 'Removed'} ${runDir}` : `There is no ${runDir}`);

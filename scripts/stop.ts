// `npm stop [-- --run-dir DIR]`: stops exactly the instance of that directory, also when its launcher was killed.
import { projectRoot } from '#testkit';
import { runDirOrEnd } from './launcher/options.js';
import { stopInstance } from './launcher/stop-instance.js';

const runDir = runDirOrEnd();
const stopped = await stopInstance(runDir, { root: projectRoot(), forget: false });
console.log(stopped ? `Stopped the instance of ${runDir}` : `Nothing runs in ${runDir}`);

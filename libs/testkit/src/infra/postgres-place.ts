import { createHash } from 'node:crypto';
import { chownSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { identify } from '../process/identity.js';

interface User {
  uid: number;
  gid: number;
}
interface Place {
  dir: string;
  binaries: { postgres: string; initdb: string };
}

/**
 * Started by root, PostgreSQL runs as another account, which cannot enter folders such as /root. Where the data folder or the binaries lie
 * behind one, the data (and a copy of the binaries) go under /var/tmp; the link `moved-to` beside the data folder's place shows where.
 */
export function reachablePlace(dir: string, binaries: Place['binaries'], user: User | undefined): Place {
  if (user === undefined) return { dir, binaries };
  return { dir: reachableDir(dir, user), binaries: reachableBinaries(binaries, user) };
}

/** Folders outside `dataDir` that hold PostgreSQL's data because its own place there was out of reach; empty when it was not. */
export function displacedDataOf(dataDir: string): string[] {
  const place = hiddenPlace(join(dataDir, 'postgres'));
  return existsSync(place) ? [place] : [];
}

const hiddenPlace = (path: string): string =>
  join('/var/tmp', `lead-delivery-${createHash('sha256').update(resolve(path)).digest('hex').slice(0, 16)}`);

function reachableDir(dir: string, user: User): string {
  if (canEnter(dirname(dir), user)) return dir;
  removeOrphans();
  const place = hiddenPlace(dir);
  const link = `${dir}.moved-to`;
  // The link goes with the instance. Data without one is of an instance that was removed, and its password went too.
  if (existsSync(place) && !existsSync(link)) {
    if (serverRuns(place)) throw new Error(`PostgreSQL of a removed instance still runs on ${place}: stop it`);
    rmSync(place, { recursive: true });
  }
  mkdirSync(place, { recursive: true, mode: 0o700 });
  chownSync(place, user.uid, user.gid);
  writeFileSync(join(place, 'origin'), dirname(dir));
  mkdirSync(dirname(dir), { recursive: true });
  if (!existsSync(link)) symlinkSync(place, link);
  return join(place, 'data');
}

/** Removes data whose instance was removed without a reset (a temporary folder, for instance) and whose server does not run. */
function removeOrphans(): void {
  for (const name of readdirSync('/var/tmp').filter((entry) => entry.startsWith('lead-delivery-'))) {
    const place = join('/var/tmp', name);
    const origin = join(place, 'origin');
    if (!existsSync(origin) || existsSync(readFileSync(origin, 'utf8')) || serverRuns(place)) continue;
    rmSync(place, { recursive: true, force: true });
  }
}

function serverRuns(place: string): boolean {
  const pidFile = join(place, 'data', 'postmaster.pid');
  return existsSync(pidFile) && identify(Number(readFileSync(pidFile, 'utf8').split('\n')[0])) !== undefined;
}

function reachableBinaries(binaries: Place['binaries'], user: User): Place['binaries'] {
  const folder = dirname(binaries.postgres);
  if (canEnter(folder, user)) return binaries;
  const native = dirname(folder);
  const copy = hiddenPlace(native);
  if (existsSync(copy) && statSync(copy).uid !== process.getuid?.()) throw new Error(`${copy} belongs to somebody else: remove it`);
  if (!existsSync(join(copy, 'bin', 'postgres'))) cpSync(native, copy, { recursive: true, verbatimSymlinks: true });
  writeFileSync(join(copy, 'origin'), native);
  return { postgres: join(copy, 'bin', 'postgres'), initdb: join(copy, 'bin', 'initdb') };
}

/** True when the account may pass through every folder down to this one. */
function canEnter(folder: string, { uid, gid }: User): boolean {
  const parent = dirname(folder);
  if (parent !== folder && !canEnter(parent, { uid, gid })) return false;
  const stat = statSync(folder, { throwIfNoEntry: false });
  // A folder that is still to be made gets the usual mode, open to all for passing through.
  if (stat === undefined) return true;
  const shift = stat.uid === uid ? 6 : stat.gid === gid ? 3 : 0;
  return ((stat.mode >> shift) & 1) === 1;
}

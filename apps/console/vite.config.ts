// Builds the console into dist/apps/console, which operator serves. `npx vite apps/console/src -c apps/console/vite.config.ts` is a development
// server; it passes requests to the operator of OPERATOR_URL.
import { join } from 'node:path';
import { defineConfig } from 'vite';

const operator = process.env.OPERATOR_URL ?? 'http://127.0.0.1:7306';

export default defineConfig({
  root: join(import.meta.dirname, 'src'),
  base: '/',
  oxc: { jsx: { runtime: 'automatic' } },
  build: {
    target: 'es2023',
    // One script: a tab that is open while a newer console is laid out has nothing left to fetch that is no longer there.
    cssCodeSplit: false,
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    modulePreload: false,
    chunkSizeWarningLimit: 1_500,
  },
  server: { proxy: { '/v1': operator, '/openapi.json': operator, '/console-config.json': operator } },
});

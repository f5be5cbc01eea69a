// Who may import whom. A name is the sentence a reader sees when a rule is broken; the comment says why the rule is there.
// Order of the libs: contracts <- runtime <- messaging <- delivery <- destinations <- apps. Each may import what stands left of it.
const spec = '\\.spec\\.ts$';
const lib = (names) => `^libs/(${names})/`;
const pack = (names) => `(^|/)node_modules/(${names})(/|$)`;

/** `name` may not import any of `later`, the libs right of it. Specs may also use the testkit. */
const layer = (name, later) => ({
  name: `${name}-imports-no-later-lib`,
  comment: `${name} stands left of ${later.replaceAll('|', ', ')}: an arrow back would tie the lower part to what is built on it.`,
  severity: 'error',
  from: { path: lib(name) },
  to: { path: lib(later) },
});

export default {
  forbidden: [
    {
      name: 'contracts-import-nothing',
      comment:
        'Contracts are words that every part and every test shares. A package or a Node module in them would be I/O in all of those.',
      severity: 'error',
      from: { path: lib('contracts'), pathNot: spec },
      to: { pathNot: lib('contracts') },
    },
    layer('runtime', 'messaging|delivery|destinations'),
    layer('messaging', 'delivery|destinations'),
    layer('delivery', 'destinations'),
    {
      name: 'no-app-imports-an-app',
      comment: 'Apps meet over topics and internal HTTP only; a shared import would be a shared deployment.',
      severity: 'error',
      from: { path: '^apps/([^/]+)/' },
      to: { path: '^apps/', pathNot: '^apps/$1/' },
    },
    {
      name: 'the-console-knows-the-api-alone',
      comment: 'It runs in a browser: whatever it imported of the libs would be sent there, and what it may know comes over the API.',
      severity: 'error',
      from: { path: '^apps/console/' },
      to: { path: '^libs/' },
    },
    {
      name: 'no-lib-imports-an-app',
      comment: 'A lib that knows an app cannot serve another one.',
      severity: 'error',
      from: { path: '^libs/' },
      to: { path: '^apps/' },
    },
    {
      name: 'libs-see-only-the-index-of-a-lib',
      comment: "index.ts is a lib's whole public surface; anything else in it may change without notice.",
      severity: 'error',
      from: { path: '^libs/([^/]+)/' },
      to: { path: '^libs/[^/]+/', pathNot: ['^libs/$1/', '^libs/[^/]+/src/index\\.ts$'] },
    },
    {
      name: 'apps-see-only-the-index-of-a-lib',
      comment: "index.ts is a lib's whole public surface; anything else in it may change without notice.",
      severity: 'error',
      from: { pathNot: '^libs/' },
      to: { path: '^libs/[^/]+/', pathNot: '^libs/[^/]+/src/index\\.ts$' },
    },
    {
      name: 'testkit-only-from-tests',
      comment: 'The testkit starts servers and bends clocks. It is for specs, test/ and scripts/, never for code that is shipped.',
      severity: 'error',
      from: { path: '^(apps|libs)/', pathNot: [spec, lib('testkit')] },
      to: { path: lib('testkit') },
    },
    {
      name: 'kafkajs-only-behind-the-port',
      comment: 'kafkajs is unmaintained: replacing it must touch libs/messaging alone. The testkit and test/ use it as a witness.',
      severity: 'error',
      from: { pathNot: [lib('messaging|testkit'), '^test/'] },
      to: { path: pack('kafkajs|@kafkajs/[^/]+') },
    },
    {
      name: 'telemetry-sdk-only-in-runtime',
      comment: 'Spans are made by the runtime, so that every record keeps its own trace; the rest of the code sees its interface.',
      severity: 'error',
      from: { pathNot: lib('runtime') },
      to: { path: pack('@opentelemetry/[^/]+') },
    },
    {
      name: 'database-client-only-below-delivery',
      comment:
        'Statements go through the runtime, which sets role and time limits and survives a lost connection; a relay keeps a session of its own for its lanes.',
      severity: 'error',
      from: { path: '^(apps|libs)/', pathNot: [spec, lib('runtime|messaging|testkit')] },
      to: { path: pack('pg') },
    },
    {
      name: 'nest-only-at-the-edge',
      comment: 'Libraries work without a framework; only the transport strategy is made for one.',
      severity: 'error',
      from: { path: '^libs/', pathNot: [spec, '^libs/messaging/src/strategy/'] },
      to: { path: pack('@nestjs/[^/]+') },
    },
    {
      name: 'decisions-are-pure',
      comment:
        'What is decided about a delivery is decided from values alone, so that every case can be tried in microseconds. Types may come from anywhere.',
      severity: 'error',
      from: { path: '^libs/delivery/src/policy/', pathNot: spec },
      to: { pathNot: ['^libs/delivery/src/policy/', lib('contracts')], dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'no-circular',
      comment: 'Two files that need each other are one idea cut in the wrong place. A cycle of types alone is allowed.',
      severity: 'error',
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
    {
      name: 'not-to-unresolvable',
      comment: 'The import points at nothing: a misspelt path or a package that is not in package.json.',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
    {
      name: 'no-orphans',
      comment: 'Nobody imports the file and it starts nothing.',
      severity: 'error',
      from: { orphan: true, path: '^(apps|libs)/', pathNot: [spec, '/main\\.tsx?$', '/vite\\.config\\.ts$', '\\.d\\.ts$'] },
      to: {},
    },
    {
      name: 'shipped-code-needs-no-dev-package',
      comment: 'A production image installs "dependencies" alone. The web console is bundled: what it is made of is in the bundle.',
      severity: 'error',
      from: { path: '^(apps|libs)/', pathNot: [spec, lib('testkit'), '^apps/console/'] },
      to: { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['type-only'] },
    },
  ],
  options: {
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    exclude: { path: ['^dist/', '^\\.run', '^\\.cache/', '^examples/'] },
    doNotFollow: { path: '(^|/)node_modules/' },
    // "source" is the condition of package.json "imports" under which #contracts is a TypeScript file rather than a built one.
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['source', 'import', 'node', 'default', 'types'],
      extensions: ['.ts', '.tsx', '.mjs', '.js', '.json', '.node', '.d.ts'],
    },
  },
};

// A project for each suffix, so that one kind can be run alone:
//   *.spec.ts       unit, no server
//   *.int.spec.ts   against the shared Kafka, registry and PostgreSQL of test/setup
//   *.flow.spec.ts, *.fault.spec.ts   against whole stacks started as `npm start` starts them
//   *.crm.spec.ts   against a real CRM that nobody here wrote
const common = {
  rootDir: import.meta.dirname,
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts'],
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      {
        swcrc: false,
        jsc: {
          target: 'es2023',
          parser: { syntax: 'typescript', decorators: true },
          transform: { legacyDecorator: true, decoratorMetadata: true },
          keepClassNames: true,
        },
        module: { type: 'es6' },
        sourceMaps: 'inline',
      },
    ],
  },
  moduleNameMapper: {
    '^#(contracts|runtime|messaging|delivery|destinations|testkit)$': '<rootDir>/libs/$1/src/index.ts',
    '^(\\.{1,2}/.*)\\.js$': '$1',
  },
  modulePathIgnorePatterns: ['<rootDir>/dist/', '<rootDir>/.run', '<rootDir>/.cache/'],
  restoreMocks: true,
};

const kinds = ['int', 'flow', 'fault', 'crm'];
const suffixed = kinds.map((kind) => ({
  ...common,
  displayName: kind,
  testMatch: [`<rootDir>/**/*.${kind}.spec.ts`],
  // Jest reads no limit of a single project.
  setupFilesAfterEnv: ['<rootDir>/test/setup/limits.ts'],
  globalSetup: kind === 'int' ? '<rootDir>/test/setup/global-setup.ts' : '<rootDir>/test/setup/build.ts',
  ...(kind === 'int' ? { globalTeardown: '<rootDir>/test/setup/global-teardown.ts' } : {}),
}));

export default {
  testSequencer: '<rootDir>/test/setup/longest-first.mjs',
  projects: [
    {
      ...common,
      displayName: 'unit',
      testMatch: ['<rootDir>/**/*.spec.ts'],
      testPathIgnorePatterns: ['/node_modules/', ...kinds.map((kind) => `\\.${kind}\\.spec\\.ts$`)],
    },
    ...suffixed,
  ],
};

// Biome formats and does the cheap linting; eslint runs only what needs types (a promise nobody waits for, a switch that forgot a state)
// and the size limits that keep a file one idea.
import tseslint from 'typescript-eslint';

const typed = {
  '@typescript-eslint/no-floating-promises': 'error',
  '@typescript-eslint/no-misused-promises': 'error',
  '@typescript-eslint/await-thenable': 'error',
  '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
  '@typescript-eslint/only-throw-error': 'error',
  '@typescript-eslint/return-await': ['error', 'in-try-catch'],
  '@typescript-eslint/no-explicit-any': 'error',
};

const size = {
  'max-lines': ['error', { max: 300, skipBlankLines: false, skipComments: false }],
  'max-lines-per-function': ['error', { max: 60, skipBlankLines: true, skipComments: true }],
  'max-depth': ['error', 3],
  '@typescript-eslint/max-params': ['error', { max: 3 }],
};

const unlimited = Object.fromEntries(Object.keys(size).map((rule) => [rule, 'off']));

export default tseslint.config(
  {
    ignores: [
      '**/*',
      '!**/',
      '!**/*.ts',
      '!**/*.tsx',
      'dist/**',
      'node_modules/**',
      '.run*/**',
      '.cache/**',
      'coverage/**',
      '**/generated/**',
      'examples/**',
    ],
  },
  {
    files: ['**/*.ts', '**/*.tsx'],
    languageOptions: {
      parser: tseslint.parser,
      parserOptions: { project: ['./tsconfig.json', './apps/console/tsconfig.json'], tsconfigRootDir: import.meta.dirname },
    },
    plugins: { '@typescript-eslint': tseslint.plugin },
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    rules: { ...typed, ...size },
  },
  // A spec is a list of cases and a migration is a list of statements: their length says nothing about their design.
  { files: ['**/*.spec.ts', 'test/**/*.ts', '**/migrations/**/*.ts', '**/*.migrations.ts'], rules: unlimited },
  // Nest constructors receive what they need as parameters; an options object there would hide it from the container.
  { files: ['apps/**/*.controller.ts', 'apps/**/*.module.ts'], rules: { '@typescript-eslint/max-params': 'off' } },
);

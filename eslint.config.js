import stylistic from '@stylistic/eslint-plugin'
import regexp from 'eslint-plugin-regexp'
import tseslint from 'typescript-eslint'

/**
 * Layout: `npm run format` writes it. Line breaks are the author's, up to 110 columns: prettier and dprint break every
 * list that is longer than a line into one item a line, which makes the sources a quarter longer.
 */
const layout = {
  '@stylistic/indent': ['error', 2, { flatTernaryExpressions: false, offsetTernaryExpressions: true, ignoredNodes: ['TSConditionalType *', 'TemplateLiteral *'] }],
  '@stylistic/quotes': ['error', 'single', { avoidEscape: false, allowTemplateLiterals: 'always' }],
  '@stylistic/semi': ['error', 'never'],
  '@stylistic/comma-dangle': ['error', { arrays: 'always-multiline', objects: 'always-multiline', imports: 'always-multiline', exports: 'always-multiline', functions: 'always-multiline', generics: 'ignore', enums: 'always-multiline', tuples: 'always-multiline' }],
  '@stylistic/operator-linebreak': ['error', 'before', { overrides: { '=': 'after', '+': 'after' } }],
  '@stylistic/arrow-parens': ['error', 'as-needed'],
  '@stylistic/brace-style': ['error', '1tbs', { allowSingleLine: true }],
  '@stylistic/keyword-spacing': 'error',
  '@stylistic/space-infix-ops': 'error',
  '@stylistic/comma-spacing': 'error',
  '@stylistic/key-spacing': 'error',
  '@stylistic/no-trailing-spaces': 'error',
  '@stylistic/eol-last': 'error',
  '@stylistic/no-multiple-empty-lines': ['error', { max: 1, maxEOF: 0 }],
  '@stylistic/space-before-blocks': 'error',
  '@stylistic/arrow-spacing': 'error',
  '@stylistic/block-spacing': 'error',
  '@stylistic/type-annotation-spacing': 'error',
  '@stylistic/function-call-spacing': 'error',
  '@stylistic/space-in-parens': 'error',
  '@stylistic/spaced-comment': ['error', 'always'],
  '@stylistic/padded-blocks': ['error', 'never'],
  '@stylistic/no-multi-spaces': ['error', { ignoreEOLComments: true }],
  '@stylistic/quote-props': ['error', 'as-needed'],
}

export default tseslint.config(
  { ignores: ['dist', 'build', 'node_modules', '.tap', 'test/fixtures/**/*.mjs', 'docker/demo/**', 'src/relay/config/generated', 'src/relay/judge/generated', 'src/relay/judge/assembly'] },
  {
    files: ['src/**/*.{ts,tsx}', 'test/**/*.ts'],
    languageOptions: { parser: tseslint.parser },
    plugins: { '@stylistic': stylistic },
    rules: layout,
  },
  {
    files: ['src/**/*.{ts,tsx}', 'test/**/*.ts'],
    extends: [tseslint.configs.strictTypeChecked],
    languageOptions: {
      parserOptions: { project: ['./tsconfig.json', './src/desk/report/page/tsconfig.json', './test/tsconfig.json'], tsconfigRootDir: import.meta.dirname },
    },
    rules: {
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/no-non-null-assertion': 'error',
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-confusing-void-expression': 'off',
      'max-len': ['error', {
        code: 110, ignoreStrings: true, ignoreTemplateLiterals: true, ignoreRegExpLiterals: true, ignoreUrls: true,
      }],
      // A room imports another by its name: `#core/relay.js`.
      'no-restricted-imports': ['error', { patterns: ['../../../*'] }],
      'no-restricted-exports': ['error', { restrictDefaultExports: { direct: true } }],
    },
  },
  // What depends on the system is a function of the platform, in one room.
  {
    files: ['src/**/*.{ts,tsx}'],
    ignores: ['src/relay/base/platform/**'],
    rules: {
      'no-restricted-syntax': [
        'error',
        {
          selector: 'MemberExpression[object.name="process"][property.name="platform"]',
          message: 'Ask src/relay/base/platform.',
        },
        {
          selector: 'CallExpression[callee.name=/^(?:spawn|spawnSync|execFile|exec)$/][arguments.0.type="Literal"]',
          message: 'Windows looks a bare name up in the working folder first: see src/relay/base/platform/programs.ts.',
        },
        {
          selector: 'ImportSpecifier[imported.name="rename"]',
          message: 'replaceFile (src/relay/base/platform/files.ts) renames where another process has the file open.',
        },
      ],
    },
  },
  // A stranger's text may reach any expression (test/linear.test.ts measures them).
  {
    files: ['src/**/*.{ts,tsx}'],
    plugins: { regexp },
    rules: {
      'regexp/no-super-linear-backtracking': ['error', { report: 'potential' }],
      'regexp/no-super-linear-move': ['error', { report: 'potential', ignoreSticky: true }],
    },
  },
  // Tables of characters; and pino takes the default export of a transport's module.
  { files: ['src/relay/protocol/text/unicode-data.ts'], rules: { 'max-len': 'off' } },
  { files: ['src/relay/audit/target.ts'], rules: { 'no-restricted-exports': 'off' } },
  // tap awaits the promises of its own `t.test`, and its callbacks may be async for that reason alone.
  {
    files: ['test/**/*.ts'],
    rules: { '@typescript-eslint/no-floating-promises': 'off', '@typescript-eslint/require-await': 'off' },
  },
)

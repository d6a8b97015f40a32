import t from 'tap'
import { run } from '../desk/inspect/start.js'

const cases: readonly (readonly [string, string, readonly string[], readonly string[]])[] = [
  // [what, the line behind `mcp-customs`, what is among the completions, what is not]
  ['commands', '', ['wrap', 'serve', 'inspect', 'audit', 'completion'], ['--listen']],
  ['options of a command', 'serve --', ['--listen', '--policy', '--help'], ['--sarif', '--no-trust']],
  ['options, but those that are there', 'wrap --trust --', ['--policy'], ['--trust']],
  ['choices', 'wrap --log-level ', ['warn', 'silent'], ['--policy']],
  ['choices that begin so', 'wrap --log-level w', ['warn'], ['info']],
]

const nothing: readonly (readonly [string, string])[] = [
  ['a file that an option names', 'wrap --config '],
  ['a file that a command names', 'audit verify '],
  ['the command of the server', 'wrap -- '],
  ['its options', 'wrap npx --'],
  ['its arguments that are commands of ours', 'wrap npx serve --l'],
]

const complete = async (t: Parameters<typeof run>[0], line: string, shell = '/bin/bash') => {
  const { stdout, ...rest } =
    await run(t, ['--get-yargs-completions', 'mcp-customs', ...line.split(' ')], { SHELL: shell })
  return { words: stdout.split('\n').filter(word => word !== ''), ...rest }
}

t.test('our commands and options are completed', async t => {
  for (const [name, line, some, none] of cases) {
    const { words } = await complete(t, line)
    t.ok(some.every(word => words.includes(word)), name)
    t.notOk(none.some(word => words.includes(word)), `${name}, and no more`)
  }
  const { words } = await complete(t, '', '/bin/zsh')
  t.ok(words.some(word => word.startsWith('wrap:stand between')), 'zsh is told what they do')
})

t.test('files, option values and the server\'s words are left to the shell', async t => {
  for (const [name, line] of nothing) {
    t.strictSame(await complete(t, line), { words: [], code: 0, stderr: '' }, name)
  }
})

t.test('the completion script is for the shell in SHELL', async t => {
  t.match(await run(t, ['completion'], { SHELL: '/bin/bash' }), {
    code: 0, stdout: /\ncomplete .* mcp-customs\n/, stderr: '',
  })
  t.match(await run(t, ['completion'], { SHELL: '/bin/zsh' }), {
    code: 0, stdout: /^#compdef mcp-customs\n/, stderr: '',
  })
})

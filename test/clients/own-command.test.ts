import t from 'tap'
import { readOwnCommand, startsUsIndirectly } from '#clients/own-command.js'
import { recognizer, program } from './wanted.js'

const server = ['npx', '-y', 'server']

/** Every way in which a configuration starts us. */
const launchers: readonly (readonly string[])[] = [
  ['npx', 'mcp-customs'],
  ['npx', '-y', 'mcp-customs'],
  ['npx', '--yes', 'mcp-customs@0.1.0'],
  ['npx', '-y', '-p', 'mcp-customs@0.1.0', 'mcp-customs'],
  ['npx', '--package=mcp-customs', 'mcp-customs'],
  ['npx', '-y', 'github:someone/mcp-customs'],
  ['npx', '-y', './mcp-customs-0.1.0.tgz'],
  ['npx.cmd', '-y', 'mcp-customs@latest'],
  ['cmd', '/c', 'npx', '-y', 'mcp-customs@0.1.0'],
  ['C:\\Windows\\System32\\cmd.exe', '/d', '/s', '/c', 'mcp-customs'],
  ['cmd', '/C', 'mcp-customs.cmd'],
  ['mcp-customs'],
  ['/usr/local/bin/mcp-customs'],
  ['C:\\npm\\mcp-customs.cmd'],
  ['node', '/usr/lib/node_modules/mcp-customs/dist/cli.js'],
  ['C:\\Program Files\\nodejs\\node.exe', 'C:\\npm\\node_modules\\mcp-customs\\dist\\cli.js'],
  ['node', '--max-old-space-size=512', '/home/a/node_modules/.bin/mcp-customs'],
  ['/usr/bin/node', program],
  ['bunx', 'mcp-customs'],
  ['bun', 'x', 'mcp-customs'],
  ['pnpm', 'dlx', 'mcp-customs@0.1.0'],
  ['yarn', 'dlx', 'mcp-customs'],
  ['npm', 'exec', '-y', 'mcp-customs'],
]

const options: readonly (readonly string[])[] = [
  [],
  ['--server=files', '--policy=strict'],
  ['--server', 'files', '--trust', '--policy', './a policy.yaml'],
  ['--rule', 'result/text=block', '--audit', '-'],
]

t.test('our own command is known in each of its spellings, and what it guards is found', async t => {
  for (const launcher of launchers) {
    for (const given of options) {
      const words = [...launcher, 'wrap', ...given, '--', ...server]
      const own = readOwnCommand(words, recognizer)
      t.match(own, { launcher: [...launcher, 'wrap'], options: given, remote: false }, words.join(' '))
      t.same(words.slice(own?.target), server)
    }
  }
})

t.test('a server is found without dashes, behind an option of another version, and as a URL', async t => {
  const cases: readonly (readonly [string, readonly string[], readonly string[], boolean])[] = [
    ['the first word that is no option', ['mcp-customs', 'wrap', '--trust', ...server], server, false],
    [
      'an option that is not known', ['mcp-customs', 'wrap', '--new', 'value', '--', ...server], server,
      false,
    ],
    [
      'a URL', ['mcp-customs', 'wrap', '--header', 'A=b', 'https://a.example/mcp'], ['https://a.example/mcp'],
      true,
    ],
    [
      'a program that is called like a URL', ['mcp-customs', 'wrap', '--', 'https://a.example/mcp'],
      ['https://a.example/mcp'], false,
    ],
  ]
  for (const [name, words, rest, remote] of cases) {
    const own = readOwnCommand(words, recognizer)
    t.same([words.slice(own?.target), own?.remote], [rest, remote], name)
  }
})

t.test('what was wrapped twice is known as such', async t => {
  const words = [
    'npx', '-y', 'mcp-customs', 'wrap', '--', 'cmd', '/c', 'mcp-customs', 'wrap', '--trust', '--', ...server,
  ]
  const own = readOwnCommand(words, recognizer)
  t.same([own?.target, own?.inner?.target, own?.inner?.inner], [5, 11, undefined])
})

t.test('what is not ours is not taken for it', async t => {
  const others: readonly (readonly string[])[] = [
    server,
    ['npx', '-y', 'mcp-customs-extra', 'wrap', '--', 'a'],
    ['npx', '-y', '@someone/wrap', 'mcp-customs'],
    ['npx', '-y', 'mcp-customs', 'serve', '--', 'a'],
    ['mcp-customs', 'wrap'],
    ['mcp-customs', 'wrap', '--'],
    ['node', '/opt/other/dist/cli.js', 'wrap', '--', 'a'],
    ['cmd'],
    [],
  ]
  for (const words of others) t.equal(readOwnCommand(words, recognizer), undefined, words.join(' '))
})

t.test('it is seen that another program starts us, but not where', async t => {
  const hidden: readonly (readonly string[])[] = [
    ['sh', '-c', 'npx -y mcp-customs wrap -- server'],
    ['env', 'A=1', 'mcp-customs', 'wrap', '--', 'server'],
    ['docker', 'run', '-i', 'image', 'mcp-customs', 'wrap', '--', 'server'],
  ]
  for (const words of hidden) {
    t.same(
      [readOwnCommand(words, recognizer), startsUsIndirectly(words, recognizer)], [undefined, true],
      words.join(' '),
    )
  }
  for (const words of [server, ['echo', 'mcp-customs'], ['wrap', 'mcp-customs']]) {
    t.equal(startsUsIndirectly(words, recognizer), false, words.join(' '))
  }
})

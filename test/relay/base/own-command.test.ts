import t from 'tap'
import { looksLikeUs, readOwnCommand } from '#relay/base/own-command.js'
import { linked, ownLaunchers, recognizer } from '../../desk/install/clients/wanted.js'

const server = ['npx', '-y', 'server']
const [launcher = []] = ownLaunchers

const options: readonly (readonly string[])[] = [
  [],
  ['--server=files', '--policy=strict'],
  ['--server', 'files', '--trust', '--policy', './a policy.yaml'],
  ['--rule', 'result/text=block', '--audit', '-'],
]

t.test('our own command is known, and what it guards is found', async t => {
  for (const own of ownLaunchers) {
    for (const given of options) {
      const words = [...own, 'wrap', ...given, '--', ...server]
      const read = readOwnCommand(words, recognizer)
      t.match(read, { launcher: [...own, 'wrap'], options: given, remote: false }, words.join(' '))
      t.same(words.slice(read?.target), server)
    }
  }
})

t.test('a server is found without dashes, behind an option of another version, and as a URL', async t => {
  const cases: readonly (readonly [string, readonly string[], readonly string[], boolean])[] = [
    ['the first word that is no option', ['--trust', ...server], server, false],
    ['an option that is not known', ['--new', 'value', '--', ...server], server, false],
    ['a URL', ['--header', 'A=b', 'https://a.example/mcp'], ['https://a.example/mcp'], true],
    ['a program that is called like a URL', ['--', 'https://a.example/mcp'], ['https://a.example/mcp'], false],
  ]
  for (const [name, behind, rest, remote] of cases) {
    const words = [...launcher, 'wrap', ...behind]
    const own = readOwnCommand(words, recognizer)
    t.same([words.slice(own?.target), own?.remote], [rest, remote], name)
  }
})

t.test('what was wrapped twice is known as such', async t => {
  const words = [...launcher, 'wrap', '--', ...launcher, 'wrap', '--trust', '--', ...server]
  const own = readOwnCommand(words, recognizer)
  t.same([own?.target, own?.inner?.target, own?.inner?.inner], [4, 9, undefined])
})

t.test('what is not ours is not taken for it', async t => {
  const others: readonly (readonly string[])[] = [
    server,
    ['npx', '-y', '@someone/wrap', 'mcp-customs'],
    [...launcher, 'serve', '--', 'a'],
    [...launcher, 'wrap'],
    [...launcher, 'wrap', '--'],
    ['node', '/opt/other/dist/cli.js', 'wrap', '--', 'a'],
    ['cmd'],
    [],
  ]
  for (const words of others) t.equal(readOwnCommand(words, recognizer), undefined, words.join(' '))
})

t.test('a program that has only our name is a stranger', async t => {
  const strangers: readonly (readonly string[])[] = [
    ['npx', 'mcp-customs'],
    ['npx', '-y', 'mcp-customs@latest'],
    ['npx', '-y', 'mcp-customs@npm:evil'],
    ['npx', '-y', '--registry=https://evil.example', 'mcp-customs@0.1.0'],
    ['npx', '-y', '-p', 'mcp-customs@0.1.0', 'mcp-customs'],
    ['npx', '-y', 'github:someone/mcp-customs'],
    ['npx', '-y', './mcp-customs-0.1.0.tgz'],
    ['cmd', '/c', 'mcp-customs.cmd'],
    ['C:\\npm\\mcp-customs.cmd'],
    ['./bin/mcp-customs'],
    ['node', './tools/mcp-customs/dist/cli.js'],
    ['node', '--import=./evil.js', linked],
    ['bunx', 'mcp-customs'],
    ['yarn', 'dlx', 'mcp-customs'],
    ['env', 'A=1', 'mcp-customs'],
    ['docker', 'run', '-i', 'image', 'mcp-customs'],
  ].map(words => [...words, 'wrap', '--', 'server'])
  for (const words of [...strangers, ['sh', '-c', 'npx -y mcp-customs wrap -- server']]) {
    t.same([readOwnCommand(words, recognizer), looksLikeUs(words, recognizer)], [undefined, true], words.join(' '))
  }
  const others = [
    server, ['echo', 'mcp-customs'], ['wrap', 'mcp-customs'],
    ['npx', '-y', 'mcp-customs-extra', 'wrap', '--', 'a'],
  ]
  for (const words of others) t.equal(looksLikeUs(words, recognizer), false, words.join(' '))
})

import t from 'tap'
import { readCommandLine } from '#cli/command-line.js'

const ask = (line: string) => readCommandLine(line.split(' ').filter(word => word !== ''))

const printed = async (line: string): Promise<string> => {
  const asked = await ask(line)
  return 'print' in asked ? asked.print : ''
}

const read = async (line: string) => {
  const asked = await ask(line)
  if ('print' in asked) return asked.print
  const { command, given, rest } = asked
  return { name: command.name, given: Object.fromEntries(given), ...rest }
}

const good = [
  // [line, flags, words, the server's command]
  ['wrap -- node a.mjs --trust -- x', {}, [], ['node', 'a.mjs', '--trust', '--', 'x']],
  ['wrap node a.mjs --trust -- x', {}, [], ['node', 'a.mjs', '--trust', '--', 'x']],
  ['wrap --trust node --help', { trust: true }, [], ['node', '--help']],
  ['wrap --policy strict --trust npx -y pkg https://a.example/', { policy: 'strict', trust: true }, [], [
    'npx', '-y', 'pkg', 'https://a.example/',
  ]],
  ['wrap --policy=strict npx', { policy: 'strict' }, [], ['npx']],
  ['wrap --audit - cat', { audit: '-' }, [], ['cat']],
  ['wrap --env A=b --env C=--d cat', { env: ['A=b', 'C=--d'] }, [], ['cat']],
  ['wrap --trust -- --odd', { trust: true }, [], ['--odd']],
  ['wrap --', {}, [], []],
  ['wrap https://a.example/ --trust', { trust: true }, ['https://a.example/'], undefined],
  [
    'wrap --header A=b https://a.example/ --header=C=d', { header: ['A=b', 'C=d'] }, ['https://a.example/'],
    undefined,
  ],
  ['wrap https://a.example/ cat', {}, ['https://a.example/'], ['cat']],
  ['wrap ftp://a.example/', {}, ['ftp://a.example/'], undefined],
  ['serve --allow-host a --allow-host b C:\\x.exe', { 'allow-host': ['a', 'b'] }, [], ['C:\\x.exe']],
  ['inspect --json cat --json', { json: true }, [], ['cat', '--json']],
  ['inspect saved.json', {}, ['saved.json'], undefined],
  ['inspect --diff a.json b.jsonl', { diff: true }, ['a.json', 'b.jsonl'], undefined],
  ['inspect -- saved.json', {}, [], ['saved.json']],
  ['inspect https://a.example/list.json', {}, ['https://a.example/list.json'], undefined],
  ['wrap serve.json', {}, [], ['serve.json']],
  ['audit verify a.ndjson', {}, ['verify', 'a.ndjson'], undefined],
] as const

for (const [line, given, words, command] of good) {
  t.test(`it reads: ${line}`, async t => {
    t.strictSame(await read(line), { name: line.split(' ')[0], given, words, command })
  })
}

const wrong = [
  ['--frob', 'Unknown argument: frob (see mcp-customs --help)'],
  ['wrpa cat', 'Unknown command: wrpa; did you mean "wrap"? (see mcp-customs --help)'],
  [
    'wrap --polcy strict cat',
    'Unknown argument: polcy; did you mean "policy"? (see mcp-customs wrap --help)',
  ],
  ['wrap --constructor cat', 'Unknown argument: constructor (see mcp-customs wrap --help)'],
  ['wrap -x cat', 'Unknown argument: x (see mcp-customs wrap --help)'],
  ['wrap -trust cat', 'Unknown arguments: t, r, u, s (see mcp-customs wrap --help)'],
  ['wrap --no-trust cat', 'Unknown argument: no-trust (see mcp-customs wrap --help)'],
  [
    'wrap --trustList a cat',
    'Unknown argument: trustList; did you mean "trust-list"? (see mcp-customs wrap --help)',
  ],
  [
    'wrap https://a.example/ --adit',
    'Unknown argument: adit; did you mean "audit"? (see mcp-customs wrap --help)',
  ],
  ['wrap --trust=true cat', 'Argument unexpected for: trust (see mcp-customs wrap --help)'],
  ['wrap --policy -- cat', 'Not enough arguments following: policy (see mcp-customs wrap --help)'],
  ['wrap --_ cat', /^usage: mcp-customs wrap .* \(see mcp-customs wrap --help\)$/],
  ['completion bash', 'usage: mcp-customs completion (see mcp-customs completion --help)'],
  ['wrap --trust=no cat', 'Argument unexpected for: trust (see mcp-customs wrap --help)'],
  ['wrap --policy', 'Not enough arguments following: policy (see mcp-customs wrap --help)'],
  ['wrap --policy --trust cat', 'Not enough arguments following: policy (see mcp-customs wrap --help)'],
  ['wrap --policy= cat', '--policy needs a value: NAME|FILE (see mcp-customs wrap --help)'],
  ['wrap --policy a --policy b cat', '--policy was given more than once (see mcp-customs wrap --help)'],
  [
    'wrap --log-level wran cat', '--log-level "wran": must be fatal, error, warn, info, debug, trace or ' +
      'silent (see mcp-customs wrap --help)',
  ],
  [
    'audit show --verdict bad',
    '--verdict "bad": must be pass, log, mend, demote or block (see mcp-customs audit --help)',
  ],
] as const

for (const [line, message] of wrong) {
  t.test(`it refuses in one line: ${line}`, async t => {
    await t.rejects(ask(line), { code: 'BAD_USAGE', exitCode: 2, message })
  })
}

t.test('help of a command shows its usage, options and two examples for each form', async t => {
  for (const name of [
    'wrap', 'serve', 'inspect', 'lock', 'install', 'uninstall', 'audit', 'ui', 'replay', 'learn',
    'completion',
  ]) {
    const help = await printed(`${name} --help`)
    t.match(help, new RegExp(`^mcp-customs ${name}\\b`))
    t.notMatch(help, /undefined/)
    t.equal(help.slice(help.indexOf('Examples:')).match(new RegExp(`^  mcp-customs ${name}\\b`, 'gm'))
      ?.length, name === 'audit' ? 6 : 2, name)
  }
  t.match(await printed('wrap --policy strict -h'), /^mcp-customs wrap /)
  t.match(await printed('--help'), /^mcp-customs COMMAND/)
  t.match(await printed('serve --help'), /\nServer:\n[^]*\nRules:\n[^]*\nClients:\n[^]*\nSessions:\n/)
})

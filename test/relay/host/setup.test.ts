import { join } from 'node:path'
import t from 'tap'
import { readCommandLine } from '#cli/command-line.js'
import { readFlags, readTarget } from '#cli/flags/relay.js'
import { setUp } from '#relay/host/server/setup.js'

const set = async (words: readonly string[]) => {
  const asked = await readCommandLine(words)
  if ('print' in asked) throw new Error('no command')
  return setUp(
    readFlags(asked.command.flags, asked.given), readTarget(asked.rest), 'relay',
    asked.command.name === 'serve',
  )
}

process.env['SETUP_TOKEN'] = 's3cret'

t.test('a command takes variables, a URL takes headers and authorities', async t => {
  const [local] =
    (await set(['wrap', '--env', 'A=x=y', '--env', 'B=${env:SETUP_TOKEN}', '--env', 'A=', 'cat'])).servers
  t.match(local?.server, { name: 'cat', command: ['cat'], env: new Map([['A', ''], ['B', 's3cret']]) })
  const [remote] = (await set(['wrap', '--header', 'Authorization=Bearer ' +
    '${env:SETUP_TOKEN}', '--ca', '/ca.pem', 'https://a.example/'])).servers
  t.match(remote?.server, { name: 'a.example', headers: new Map([['authorization', 'Bearer s3cret']]), tls: {
    ca: '/ca.pem', client: undefined,
  } })
})

t.test('flags win over the file, key by key', async t => {
  const directory = t.testdir({
    'customs.yaml': `
limits: { requestMs: 1, depth: 10 }
sessions: { max: 1, graceMs: 2 }
listen: 127.0.0.1:1
allowHosts: [a.example]
auth: { tokens: [of-the-file] }
audit: { payloads: full }
servers:
  remote: { url: "https://a.example/", headers: { A: b, C: d }, tls: { cert: c, key: k } }
`,
    'tokens.txt': 'one\r\n\ntwo\n',
  })
  const file = join(directory, 'customs.yaml')
  const { configuration, servers } = await set([
    'serve', '--config', file, '--request-timeout', '1.5', '--max-sessions', '7', '--idle', '60', '--listen',
    '[::1]:2', '--allow-host', 'B.example',
    '--allow-origin', 'https://c.example:443', '--token-file', join(directory, 'tokens.txt'), '--header',
    'a=e', '--ca', 'ca.pem', '--audit', 'none',
  ])
  t.match(configuration, {
    file, limits: { requestMs: 1500, depth: 10 }, sessions: { max: 7, idleMs: 60_000, graceMs: 2 },
    listen: { host: '::1', port: 2 },
    audit: { file: 'none', payloads: 'full' },
  })
  t.strictSame(configuration.allowHosts, ['a.example', 'b.example'])
  t.strictSame(configuration.allowOrigins, ['https://c.example'])
  t.strictSame(configuration.tokens.map(({ token }) => token), ['one', 'two'])
  t.match(servers[0]?.server, {
    headers: new Map([['a', 'e'], ['c', 'd']]),
    tls: { ca: join(process.cwd(), 'ca.pem'), client: { cert: join(directory, 'c') } },
  })
})

t.test('a process inherits our environment except in a gateway', async t => {
  const directory = t.testdir({ 'customs.yaml': 'servers: { a: { command: [cat] }, b: { command: [cat], ' +
    'inheritEnv: true }, c: { command: [cat], inheritEnv: false } }' })
  const inherited = async (...words: readonly string[]) =>
    (await set(words)).servers.map(({ server }) => ('command' in server ? server.inheritEnv : 'no process'))
  const file = join(directory, 'customs.yaml')
  t.strictSame(await inherited('serve', '--config', file), [[], true, []])
  t.strictSame(await inherited('wrap', '--config', file, '--server', 'a'), [undefined])
  t.strictSame(await inherited('wrap', '--config', file, '--server', 'c'), [[]])
  t.strictSame(await inherited('serve', 'cat'), [undefined])
})

t.test('a wrong value is reported at its flag, in one line, without possible secrets', async t => {
  const directory = t.testdir({
    'two.yaml': 'servers: { a: { command: [cat] }, b: { url: "https://b.example/" } }',
    'empty.txt': '\n',
    'odd.txt': 'fine\n\nhunter2 hunter2\n',
  })
  const file = (name: string) => join(directory, name)
  const cases: readonly (readonly [readonly string[], string])[] = [
    [['wrap', '--header', 'Authorization : Bearer hunter2=', 'https://a/'], '--header: must be NAME=VALUE'],
    [['wrap', '--header', 'hunter2', 'https://a/'], '--header: must be NAME=VALUE'],
    [['wrap', '--header', 'A(B)=hunter2', 'https://a/'], '--header "A(B)": no name for a header'],
    [
      ['wrap', '--header', 'A=hunter2\nB', 'https://a/'],
      '--header A: must be text on one line, without control characters',
    ],
    [
      ['wrap', '--header', 'Content-Length=1', 'https://a/'],
      '--header Content-Length: is written by the relay itself',
    ],
    [
      ['wrap', '--header', 'A=${env:NOT_SET}', 'https://a/'],
      '--header A: the environment variable NOT_SET is not set',
    ],
    [['wrap', '--header', 'A=b', 'cat'], '--header goes with a URL, not with a command'],
    [['wrap', '--ca', 'a.pem', 'cat'], '--ca goes with a URL, not with a command'],
    [['wrap', '--env', 'A=b', 'https://a/'], '--env goes with a command, not with a URL'],
    [['wrap', '--env', '=hunter2', 'cat'], '--env: must be NAME=VALUE'],
    [['wrap', '--env', 'A=hunter2\0', 'cat'], '--env A: must be text without NUL'],
    [
      ['serve', '--config', file('two.yaml'), '--env', 'A=b'],
      '--header, --ca and --env are for one server: choose it with --server',
    ],
    [['serve', '--token-file', file('empty.txt'), 'cat'], `${file('empty.txt')}: holds no token`],
    [
      ['serve', '--token-file', file('odd.txt'), 'cat'],
      `${file('odd.txt')}:3: must be a token: visible ASCII characters, and not empty`,
    ],
    [
      ['serve', '--token-file', file('none.txt'), 'cat'],
      `${file('none.txt')}: cannot be read: there is no such file or folder (ENOENT)`,
    ],
    [['serve', '--listen', '7400', 'cat'], '--listen "7400": must be HOST:PORT, such as 127.0.0.1:7400 or ' +
      '[::1]:0, or unix:PATH, such as unix:/run/customs.sock?mode=660'],
    [
      ['serve', '--admin', 'a:65536', 'cat'],
      '--admin "a:65536": must be HOST:PORT, the port from 0 to 65535',
    ],
    [['serve', '--allow-host', 'a', '--allow-host', 'b:1', 'cat'], '--allow-host "b:1": must be a host ' +
      'without its port (all of its ports are accepted), such as mcp.example.com'],
    [['serve', '--allow-origin', 'https://a/', 'cat'], '--allow-origin "https://a/": must be an origin, ' +
      'without a path or a pattern, such as https://app.example.com'],
    [['serve', '--max-sessions', '0', 'cat'], '--max-sessions "0": must be a whole number from 1 to 1000000'],
    [['serve', '--max-sessions', '1.5', 'cat'], '--max-sessions "1.5": must be a whole number'],
    [
      ['serve', '--idle', '0', 'cat'],
      '--idle "0": must be a whole number from 1000 to 2147483647 milliseconds',
    ],
    [['serve', '--grace', '1h', 'cat'], '--grace "1h": must be a number of seconds'],
    [
      ['wrap', 'http://a%zz:hunter2@host/'],
      'the URL of the server must not hold a user or password: send a header',
    ],
    [
      ['wrap', 'https://hunter2@host/'],
      'the URL of the server must not hold a user or password: send a header',
    ],
    [['wrap', 'ftp://host/'], 'the URL of the server must be an https or http URL'],
    [['wrap', 'https://'], 'the URL of the server must be a URL'],
    [['wrap', 'https://a/', 'cat'], 'give either a URL or a command, not both'],
    [['wrap', '--'], 'no command after --'],
    [['wrap'], 'which server? give a command, a URL, or --config FILE'],
    [
      ['wrap', '--config', file('two.yaml')],
      `${file('two.yaml')} has several servers: choose one with --server (a, b)`,
    ],
    [
      ['wrap', '--config', file('two.yaml'), '--server', 'c'],
      `${file('two.yaml')}: no server "c" (there is: a, b)`,
    ],
  ]
  for (const [words, message] of cases) {
    const error: unknown = await set(words).catch((error: unknown) => error)
    t.match(error, { name: 'CustomsError', exitCode: 2 }, message)
    t.equal((error as Error).message, message)
  }
})

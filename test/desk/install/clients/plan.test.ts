import t from 'tap'
import { clients } from '#desk/install/clients/known.js'
import { planInstall, planRelax, planUninstall, type Wrapped } from '#desk/install/clients/plan.js'
import { isChange, type EntryPlan } from '#desk/install/clients/steps.js'
import { describePlan } from '#desk/install/command.js'
import { plainStyle } from '#desk/terminal/style.js'
import { installing, program, removing } from './wanted.js'

const source = (
  text: string, name?: string, file = '/home/a/mcp.json',
) => ({ file, real: file, text, client: clients.find(client => client.name === name) })

const stepsOf = ({ steps }: EntryPlan) =>
  steps.map(step => [step.kind, 'reason' in step ? step.reason : step.entry.name] as const)

const entry = (server: unknown, key = 'mcpServers') => JSON.stringify({ [key]: { one: server } })

const installed = (server: unknown, name?: string, other: Partial<Wrapped> = {}) =>
  planInstall(source(entry(server), name), installing(other))

t.test('entries that are not changed are named, with the reason', async t => {
  const cases: readonly (readonly [string, unknown, RegExp])[] = [
    ['disabled', { command: 'a', disabled: true }, /^is disabled$/],
    ['not enabled', { command: 'a', enabled: false }, /^is disabled$/],
    ['disabled and remote', { url: 'https://a.example/', disabled: true }, /^is disabled$/],
    ['no table', 'node', /no table/],
    ['nothing to start', { tools: [] }, /neither a command nor a URL/],
    ['both', { command: 'a', url: 'https://a.example/' }, /both a command and a URL/],
    ['two URLs', { url: 'https://a.example/', httpUrl: 'https://b.example/' }, /several URLs: url, httpUrl/],
    ['a command of another kind', { command: { path: 'a' } }, /command is no text/],
    ['arguments of another kind', { command: 'a', args: 'b' }, /args are no list/],
    ['a whole line', { command: 'npx -y server' }, /whole line/],
    ['a URL of another kind', { url: 'ws://a.example/' }, /no http or https URL/],
    ['a type of another kind', { type: 'ws', url: 'https://a.example/' }, /of the type ws/],
    ['a command of a remote type', { type: 'http', command: 'a' }, /type http/],
    [
      'signed in by the client', { url: 'https://a.example/', oauth: {} },
      /client itself signs in there \(oauth\)/,
    ],
    ['headers that a program makes', { url: 'https://a.example/', headersHelper: 'x' }, /signs in/],
    ['a password in the URL', { url: 'https://u:p@a.example/' }, /hold a secret/],
    ['a key in the URL', { url: 'https://a.example/mcp?api_key=abc' }, /hold a secret/],
    ['a key in the path', { url: 'https://a.example/s/Zm9vYmFyYmF6MTIzNDU2Nzg5MA/mcp' }, /hold a secret/],
    [
      'us behind a shell', { command: 'sh', args: ['-c', 'mcp-customs wrap -- a'] },
      /^looks like mcp-customs, but is not this program$/,
    ],
    [
      'a program of the repository with our name',
      { command: 'node', args: ['./tools/mcp-customs/dist/cli.js', 'wrap', '--', 'a'] },
      /^looks like mcp-customs, but is not this program$/,
    ],
  ]
  for (const [name, server, reason] of cases) {
    const plan = installed(server)
    t.match(stepsOf(plan), [['left', reason]], name)
    t.equal(plan.text, plan.source.text, name)
  }
})

t.test('an entry with a duplicate key is left as it is', async t => {
  const texts = [
    '{"mcpServers": {"one": {"command": "a"}, "one": {"command": "b"}}}',
    '{"mcpServers": {"one": {"command": "a"}}, "mcpServers": {}}',
    '{"mcpServers": {"one": {"command": "a", "command": "b"}}}',
    '{"mcpServers": {"one": {"url": "https://a.example/", "headers": {"A": "1", "A": "2"}}}}',
  ]
  for (const text of texts) {
    const plan = planInstall(source(text), installing())
    t.ok(plan.steps.length > 0 && plan.steps.every(({ kind }) => kind === 'left'), text)
    t.equal(plan.text, text)
  }
})

t.test('a file that cannot be read is reported with line and column', async t => {
  const cases: readonly (readonly [string, string, RegExp])[] = [
    ['/home/a/mcp.json', '{\n  "mcpServers": {,}\n}', /^\/home\/a\/mcp\.json:2:18: /],
    ['/home/a/mcp.json', '[]', /must hold an object/],
    ['/home/a/config.toml', 'a = 1\n[b\n', /^\/home\/a\/config\.toml:\d+:\d+: /],
    ['/home/a/mcp.json', '['.repeat(100_000), /nested too deep/],
  ]
  for (const [file, text, reason] of cases) {
    t.throws(
      () => planInstall(source(text, undefined, file), installing()), { code: 'BAD_CONFIG', message: reason },
      reason.source,
    )
  }
  t.same(planInstall(source(''), installing()).steps, [], 'an empty file has no servers')
})

t.test('servers of an unknown file are looked for under every key that clients use', async t => {
  for (const key of ['mcpServers', 'servers', 'context_servers', 'mcp_servers']) {
    t.same(stepsOf(planInstall(source(entry({ command: 'a' }, key)), installing())), [['wrap', 'one']], key)
  }
  t.same(
    stepsOf(planInstall(source('{"mcp": {"servers": {"one": {"command": "a"}}}}'), installing())),
    [['wrap', 'one']],
  )
  t.same(
    planInstall(source(entry({ command: 'a' }, 'servers'), 'cursor'), installing()).steps, [],
    'and of a client under its own',
  )
})

t.test('the servers of one project are chosen by its folder, whatever its slashes', async t => {
  const text =
    '{"mcpServers": {"user": {"command": "a"}}, "projects": {"C:/x": {"mcpServers": {"one": {"command": "a"}}}, "/y": {"mcpServers": {"two": {"command": "a"}}}}}'
  const names = (scope?: string) => planInstall({ ...source(text, 'claude-code'), scope }, installing())
    .steps.map(({ entry: { name } }) => name)
  t.same([names(), names('C:\\x'), names('/y'), names('/z')], [['user', 'one', 'two'], ['one'], ['two'], []])
})

t.test('a wrapped entry changes only where an option was given or a path is gone', async t => {
  const server = {
    command: '/usr/bin/node', args: [program, 'wrap', '--server=one', '--trust', '--', 'a', 'b'],
  }
  const argsOf = ({ text }: EntryPlan): unknown =>
    (JSON.parse(text) as { mcpServers: { one: unknown } }).mcpServers.one
  const cases: readonly (readonly [string, Partial<Wrapped>, string, unknown])[] = [
    ['nothing', {}, 'done', server],
    [
      'another policy', { policy: 'strict' }, 'rewrap',
      { ...server, args: [program, 'wrap', '--server=one', '--trust', '--policy=strict', '--', 'a', 'b'] },
    ],
    [
      'a lock', { lockOf: () => '/l.json' }, 'rewrap',
      { ...server, args: [program, 'wrap', '--server=one', '--trust', '--lock=/l.json', '--', 'a', 'b'] },
    ],
    [
      'another launcher, though the old one works',
      { launcher: { words: ['npx', '-y', 'mcp-customs@0.1.0'], reason: '' } }, 'done', server,
    ],
    ['a program that is gone', {
      launcher: { words: ['npx', '-y', 'mcp-customs@0.1.0'], reason: '' }, isGone: path => path === program,
    }, 'rewrap',
    { command: 'npx', args: ['-y', 'mcp-customs@0.1.0', 'wrap', '--server=one', '--trust', '--', 'a', 'b'] }],
  ]
  for (const [name, other, kind, expected] of cases) {
    const plan = installed(server, undefined, other)
    t.equal(plan.steps[0]?.kind, kind, name)
    t.same(argsOf(plan), expected, name)
  }
  const strict = { ...server, args: [program, 'wrap', '--policy', 'strict', '--', 'a'] }
  t.equal(
    installed(strict, undefined, { policy: 'strict' }).steps[0]?.kind, 'done',
    'a policy in its other spelling',
  )
})

t.test('a pinned package is written with its version, and uninstall takes that off again', async t => {
  const pin = { from: 'server', to: 'server@1.2.3' }
  const pinOf = () => pin
  const texts: readonly (readonly [string, string, string])[] = [
    ['JSON', '{"mcpServers": {"one": {"command": "npx", "args": ["-y", "server", "/data"]}}}', 'mcp.json'],
    ['first of the arguments', '{"mcpServers": {"one": {"command": "npx", "args": [\n  "server"\n]}}}', 'mcp.json'],
    ['an odd spelling', '{"mcpServers": {"one": {"command": "npx", "args": ["ser\\u0076er"]}}}', 'mcp.json'],
    ['TOML', '[mcp_servers.one]\ncommand = "npx"\nargs = ["-y", "server"]\n', 'config.toml'],
  ]
  for (const [name, before, file] of texts) {
    const at = (text: string) => source(text, undefined, `/home/a/${file}`)
    const { text, steps: [step] } = planInstall(at(before), installing({ pinOf }))
    t.match(text, '"server@1.2.3"', name)
    t.match(step, { kind: 'wrap' }, name)
    if (step === undefined || !isChange(step)) return t.fail(name)
    const { note } = step
    t.equal(planUninstall(at(text), removing([note])).text, before, name)
    t.equal(
      planUninstall(at(text), removing([])).text, before.replace(/"(?:server|ser\\u0076er)"/, '"server@1.2.3"'),
      `${name}: without a note the version stays`,
    )
    const wrapped = planInstall(at(before), installing())
    const later = planInstall(at(wrapped.text), installing({ pinOf }))
    t.equal(later.text, text, `${name}: the same for a server that was wrapped before`)
  }
})

t.test('what would pass a shell of Windows in another form is left alone', async t => {
  const launcher = { words: ['cmd', '/c', 'npx', '-y', 'mcp-customs@0.1.0'], reason: '' }
  t.match(
    stepsOf(installed({ command: 'a', args: ['x&y'] }, undefined, { launcher })),
    [['left', /cmd would not hand on the & in its words/]],
  )
  t.match(
    stepsOf(installed({ command: 'a', args: ['%PATH%'] }, undefined, { launcher })),
    [['left', /cmd would not hand on the %/]],
  )
  t.match(stepsOf(installed({ command: 'a', args: ['x y'] }, undefined, { launcher })), [['wrap', 'one']])
})

t.test('no secret is shown, none is moved, and none is put into a command line', async t => {
  const secret = 'qX81-never-shown'
  const cases: readonly (readonly [string, unknown, string | undefined])[] = [
    ['a variable', { command: 'a', env: { ANY: secret } }, undefined],
    ['a header', {
      url: 'https://a.example/', headers: { Authorization: `Bearer ${secret}`, 'X-Key': secret },
    }, 'cursor'],
    ['a flag', { command: 'a', args: ['--api-key', secret] }, undefined],
    ['a flag in one word', { command: 'a', args: [`--token=${secret}`] }, undefined],
    ['a key of another tool', { command: 'a', password: secret }, undefined],
    ['a table of another tool', { command: 'a', auth: { value: secret } }, undefined],
    ['an address', { command: 'a', args: [`postgres://u:${secret}@h/d`] }, undefined],
  ]
  for (const [name, server, client] of cases) {
    const [step] = installed(server, client).steps
    if (step === undefined || !isChange(step)) return t.fail(name)
    t.notMatch(step.before + step.after, secret, name)
    t.match(step.before + step.after, '[redacted]', name)
  }
  const { text } = installed({ url: 'https://a.example/', headers: { 'X-Key': secret } }, 'cursor')
  t.same(JSON.parse(text), {
    mcpServers: {
      one: {
        command: '/usr/bin/node',
        args: [
          program, 'wrap', '--server=one', '--policy=compat', '--profile=cursor', '--header',
          'X-Key={env:MCP_CUSTOMS_HEADER_X_KEY}', 'https://a.example/',
        ],
        env: { MCP_CUSTOMS_HEADER_X_KEY: secret },
      },
    },
  })
})

t.test('what a stranger wrote into a file of a project is told without steering the terminal', async t => {
  const plan = planInstall(source(JSON.stringify({ mcpServers: {
    'a\u001b[2J\u202eb': { command: 'x', type: '\u001b]0;title\u0007' },
    'c\nd': { command: 'x', args: ['\u202e\u001b[31m'] },
  } })), installing())
  const shown = describePlan(plan, plainStyle)
  t.match(shown, /^ {2}ab {3}left alone: has a command, and the type\n/)
  t.match(shown, /\n {2}c d {2}will run under mcp-customs\n/)
  t.notMatch(shown, /[\u001b\u0007\u202e]/)
})

t.test('what was changed by hand after install stays when it is uninstalled', async t => {
  const before = '{"mcpServers": {\n  // mine\n  "one": {"command": "a", "args": ["b"]}\n}}'
  const { text, steps } = planInstall(source(before), installing())
  const edited = text.replace('"b"', '"b", "c"').replace('// mine', '// still mine')
    .replace('"one": {', '"one": {"timeout": 5, ')
  const notes = steps.filter(isChange).map(({ note }) => note)
  const { text: back } = planUninstall(source(edited), removing(notes))
  t.equal(
    back,
    '{"mcpServers": {\n  // still mine\n  "one": {"timeout": 5, "command": "a", "args": ["b", "c"]}\n}}',
  )
})

t.test('what was wrapped by hand, or twice, is taken off too', async t => {
  const wrapped = (...args: readonly string[]) => planUninstall(
    source(entry({ command: 'npx', args: ['-y', 'mcp-customs@0.1.0', 'wrap', ...args] })), removing([]),
  )
  t.same(JSON.parse(wrapped('--', 'a', 'b').text), JSON.parse(entry({ command: 'a', args: ['b'] })))
  t.same(
    JSON.parse(wrapped('--', 'mcp-customs', 'wrap', '--trust', '--', 'a', 'b').text),
    JSON.parse(entry({ command: 'a', args: ['b'] })),
  )
  t.match(
    stepsOf(wrapped('https://a.example/')),
    [['left', /^it is not as install left it, and its URL and headers stood elsewhere: undo it by hand$/]],
  )
})

t.test('a server that is not wrapped is nothing for uninstall', async t => {
  const plan = planUninstall(source(entry({ command: 'a' })), removing([]))
  t.match(stepsOf(plan), [['done', 'does not run under mcp-customs']])
})

t.test('a tool of a wrapped server is relaxed in its entry, and the entry gets its old bytes back', async t => {
  const before = installed({ command: 'node', args: ['a.js'] }).text
  const wanted = removing([])
  const made = planRelax(source(before), wanted, 'get_price', false)
  t.match(stepsOf(made), [['rewrap', 'one']])
  t.match(JSON.parse(made.text), { mcpServers: { one: { args: /--relax=get_price/ } } })
  const all = planRelax(source(made.text), wanted, '*', false)
  t.match(all.text, /"--relax=get_price", "--relax=\*"/)
  t.match(stepsOf(planRelax(source(made.text), wanted, 'get_price', false)), [['done', 'is relaxed already']])
  const back = planRelax(source(planRelax(source(all.text), wanted, '*', true).text), wanted, 'get_price', true)
  t.equal(back.text, before)
  t.match(stepsOf(planRelax(source(before), wanted, 'get_price', true)), [['done', 'is not relaxed']])
  t.match(stepsOf(planRelax(source(entry({ command: 'node' })), wanted, 'x', false)), [['left', /does not run under/]])
})

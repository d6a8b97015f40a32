import { join } from 'node:path'
import t from 'tap'
import { readConfiguration as readWith } from '#relay/config/read.js'
import { defaultLimits, defaultSessionLimits } from '#relay/config/configuration.js'
import { judgeSchema } from '#relay/host/server/setup.js'
import { readTrustList } from '#relay/config/trust.js'

const environment = {
  FILES_TOKEN: 's3cret-files', TICKETS_TOKEN: 's3cret-tickets', CLIENT_TOKEN: 's3cret-client', EMPTY: '',
}

const readConfiguration = (file: string, environment: Readonly<Record<string, string>>) =>
  readWith(file, { environment, judgeSchema })

const everything = `
version: 1
listen: "[::1]:0"
policy: ./policy.yaml
rules: { result/schema: block, call/arguments: log }
limits: { messageBytes: 4096, requestMs: 60000 }
trust:
  - command: [node, /opt/mcp/weather.mjs]
    sha256: ${'0aF'.repeat(21)}0
  - package: "@modelcontextprotocol/server-filesystem@2026.8.31"
  - url: https://mcp.example.com/
servers:
  files:
    command: [npx, -y, "@modelcontextprotocol/server-filesystem@2026.8.31", /data]
    env: { TOKEN: "\${env:FILES_TOKEN}" }
    cwd: data
  tickets:
    url: https://mcp.example.com/mcp
    headers: { Authorization: "Bearer \${env:TICKETS_TOKEN}" }
    policy: strict
    rules: { result/text: block }
    tls: { ca: ca.pem, cert: client.pem, key: client.key }
    tools:
      search: { outputSchema: ./schemas/search.json }
      find: { outputSchema: { type: object, pattern: "\${env:}" }, resultSchema: { pattern: "\${env:}" }, structured: from-text }
      archive: { annotations: { destructiveHint: true, title: Archive } }
      delete_everything: deny
      drop: { deny: true }
auth: { tokens: [ "\${env:CLIENT_TOKEN}" ] }
audit: { file: ./audit.ndjson, payloads: redacted, maxBytes: 1000000, rotate: daily, keep: 9, keepDays: 7, keepBytes: 0, signKey: ./audit.key, onFailure: continue, targets: [ { target: pino-loki, options: { token: "\${env:CLIENT_TOKEN}" } }, { target: ./ship.mjs } ] }
telemetry: { endpoint: "https://otlp.example.com", headers: { X-Key: "\${env:CLIENT_TOKEN}" }, payloads: redacted }
tls: { cert: server.pem, key: server.key }
allowHosts: [MCP.example.com, "[::1]", "müsli.example"]
allowOrigins: ["https://app.example.com:443", "tauri://localhost"]
admin: 127.0.0.1:9090
sessions: { max: 10 }
`

t.test('a configuration with everything in it', async t => {
  const directory = t.testdir({
    'customs.yaml': everything,
    'policy.yaml': 'extends: observe\nrules: { wire/id: block }\n',
    schemas: { 'search.json': '{ "type": "object" }' },
  })
  const file = join(directory, 'customs.yaml')
  const read = await readConfiguration(file, environment)
  t.strictSame(read.listen, { host: '::1', port: 0 })
  t.equal(read.policy?.preset, 'observe')
  t.strictSame([...(read.policy?.rules ?? [])], [['wire/id', 'block']])
  t.strictSame([...read.rules], [['result/schema', 'block'], ['call/arguments', 'log']])
  t.strictSame(read.limits, { ...defaultLimits, messageBytes: 4096, requestMs: 60000 })
  t.strictSame(read.trust, [
    { command: ['node', '/opt/mcp/weather.mjs'], sha256: '0aF'.repeat(21) + '0' },
    { package: '@modelcontextprotocol/server-filesystem@2026.8.31' },
    { url: 'https://mcp.example.com/' },
  ])
  t.strictSame([...read.servers.keys()], ['files', 'tickets'])
  t.match(read.servers.get('files'), {
    name: 'files',
    command: ['npx', '-y', '@modelcontextprotocol/server-filesystem@2026.8.31', '/data'],
    env: new Map([['TOKEN', 's3cret-files']]),
    cwd: join(directory, 'data'),
    tools: new Map(),
  })
  const tickets = read.servers.get('tickets')
  t.match(tickets, {
    url: 'https://mcp.example.com/mcp',
    headers: new Map([['authorization', 'Bearer s3cret-tickets']]),
    policy: { preset: 'strict' },
    rules: new Map([['result/text', 'block']]),
    tls: {
      ca: join(directory, 'ca.pem'),
      client: { cert: join(directory, 'client.pem'), key: join(directory, 'client.key') },
    },
  })
  const tool = { denied: false, outputSchema: undefined, annotations: undefined }
  t.strictSame([...(tickets?.tools ?? [])], [
    ['search', { ...tool, outputSchema: { type: 'object' } }],
    ['find', {
      ...tool, outputSchema: { type: 'object', pattern: '${env:}' }, resultSchema: { pattern: '${env:}' },
      structured: 'from-text',
    }],
    ['archive', { ...tool, annotations: { title: 'Archive', destructiveHint: true } }],
    ['delete_everything', { ...tool, denied: true }],
    ['drop', { ...tool, denied: true }],
  ])
  t.strictSame(read.tokens, [{ token: 's3cret-client', name: undefined }])
  t.strictSame(read.audit, {
    file: join(directory, 'audit.ndjson'), payloads: 'redacted', intent: false, maxBytes: 1_000_000,
    rotate: 'daily', keep: 9, keepDays: 7, keepBytes: 0, signKey: join(directory, 'audit.key'),
    onFailure: 'continue',
    targets: [
      { target: 'pino-loki', options: { token: 's3cret-client' }, from: file },
      { target: join(directory, 'ship.mjs'), options: {}, from: file },
    ],
  })
  t.strictSame(read.telemetry, {
    endpoint: 'https://otlp.example.com', headers: new Map([['x-key', 's3cret-client']]),
    payloads: 'redacted',
  })
  t.strictSame(
    read.tls,
    { cert: join(directory, 'server.pem'), key: join(directory, 'server.key'), clientCa: undefined },
  )
  t.strictSame(read.allowHosts, ['mcp.example.com', '[::1]', 'xn--msli-0ra.example'])
  t.strictSame(read.allowOrigins, ['https://app.example.com', 'tauri://localhost'])
  t.strictSame(read.admin, { host: '127.0.0.1', port: 9090 })
  t.strictSame(read.sessions, { ...defaultSessionLimits, max: 10 })
  t.ok(Object.isFrozen(read) && Object.isFrozen(read.limits) && Object.isFrozen(tickets))
})

t.test('a socket is its owner\'s, unless the address says otherwise', async t => {
  const directory =
    t.testdir({ 'own.yaml': 'listen: unix:../../../s', 'group.yaml': 'listen: "unix:/s?mode=660"' })
  const listen = async (name: string) => (await readConfiguration(join(directory, name), environment)).listen
  t.strictSame(await listen('own.yaml'), { socket: join(directory, '../../../s'), mode: 0o600 })
  t.strictSame(await listen('group.yaml'), { socket: '/s', mode: 0o660 })
})

t.test('an empty configuration has the defaults of the contract', async t => {
  const directory = t.testdir({ 'customs.json': '{}' })
  const read = await readConfiguration(join(directory, 'customs.json'), {})
  t.strictSame(read.limits, {
    messageBytes: 16777216, depth: 128, judgedBytes: 3145728, schemaBytes: 262144, schemaDepth: 64,
    subschemas: 5000,
    validationMs: 100, tools: 5000, listMs: 10000, requestMs: 0, bufferedBytes: 67_108_864,
  })
  t.strictSame(read.audit, {
    file: undefined, payloads: 'digest', intent: false, keepDays: 30, keepBytes: 1_000_000_000,
    onFailure: 'block', targets: [],
  })
  t.strictSame(read.telemetry, { endpoint: undefined, headers: new Map(), payloads: 'none' })
  t.strictSame(read.tokens, [])
  t.equal(read.policy, undefined)
  t.equal(read.servers.size, 0)
})

t.test('the audit log may go to a stream, or nowhere', async t => {
  const directory =
    t.testdir({ 'a.json': '{ "audit": { "file": "-" } }', 'b.json': '{ "audit": { "file": "none" } }' })
  t.equal((await readConfiguration(join(directory, 'a.json'), {})).audit.file, '-')
  t.equal((await readConfiguration(join(directory, 'b.json'), {})).audit.file, 'none')
})

const server = (text: string) => `servers: { a: { ${text} } }`

const wrong = [
  // [name, YAML, the message after the file's name]
  ['a list', '[]', ': must be a map of keys, not a list'],
  [
    'nothing', '',
    ': the file is empty: begin with "servers: { NAME: { command: [npx, -y, PACKAGE] } }"',
  ],
  [
    'no servers', 'servers:',
    ':1:1: servers: no server is configured: begin with "servers: { NAME: { command: [npx, -y, PACKAGE] } }"',
  ],
  [
    'a misspelt key of a lock', 'lock:\n  file: a.json\n  txet: block',
    ':3:3: lock.txet: unknown key; did you mean "text"?',
  ],
  ['a lock without its file', 'lock: { frozen: true }', ':1:1: lock: must have file'],
  [
    'a lock of another kind', 'lock: 7',
    ':1:1: lock: must be the path of a lock file, or an object with its file',
  ],
  [
    'a misspelt key of a tool', 'servers:\n  a:\n    command: [b]\n    tools:\n      search: { outputShema: a }',
    ':5:17: servers.a.tools.search.outputShema: unknown key; did you mean "outputSchema"?',
  ],
  ['an unknown key', 'polcy: strict', ':1:1: polcy: unknown key; did you mean "policy"?'],
  [
    'an unknown key, nothing like it', 'audit: { where: x }',
    ':1:10: audit.where: unknown key; known here: file, payloads, intent, maxBytes, rotate, keep, keepDays, keepBytes, signKey, onFailure, targets',
  ],
  ['a target without a module', 'audit: { targets: [ { options: {} } ] }', /: audit\.targets\.0: /],
  [
    'a collector with a password', 'telemetry: { endpoint: "https://a:b@c" }',
    ':1:14: telemetry.endpoint: must not hold a user or password: send a header',
  ],
  [
    'an unknown key further in', 'limits: { messageByte: 1 }',
    ':1:11: limits.messageByte: unknown key; did you mean "messageBytes"?',
  ],
  ['an inherited key', 'constructor: 1', /: constructor: unknown key; known here: /],
  ['__proto__', '__proto__: { policy: strict }', /: __proto__: unknown key; known here: /],
  ['a key that a terminal would act upon', '"\\e[31m": 1', /: "\\u001b\[31m": unknown key/],
  ['a version to come', 'version: 2', ':1:1: version: must be 1, not 2'],
  ['a number for text', 'listen: 7400', ':1:1: listen: must be HOST:PORT, such as 127.0.0.1:7400 or [::1]:0, or unix:PATH, such as unix:/run/customs.sock?mode=660, not a number'],
  [
    'no port', 'listen: localhost',
    ':1:1: listen: must be HOST:PORT, such as 127.0.0.1:7400 or [::1]:0, or unix:PATH, such as unix:/run/customs.sock?mode=660',
  ],
  ['a socket with a mode that is none', 'listen: unix:/run/x?mode=9', /: listen: must be HOST:PORT/],
  [
    'too long a path for a socket', `listen: unix:/${'x'.repeat(110)}`,
    /: listen: .* is too long for a socket/,
  ],
  ['a port too high', 'listen: localhost:65536', /: listen: must be HOST:PORT/],
  [
    'a misspelt preset', 'policy: stric',
    ':1:1: policy: must be observe, standard, strict, compat or the path of a policy file, such as ./policy.yaml; did you mean "strict"?',
  ],
  ['no policy file', 'policy: ./none.yaml', /none\.yaml: cannot be read: .*\(ENOENT\)/],
  [
    'a misspelt rule', 'rules: { result/shema: log }',
    ':1:10: rules.result/shema: unknown key; did you mean "result/schema"?',
  ],
  [
    'a misspelt action', 'rules: { wire/id: blokc }',
    ':1:10: rules.wire/id: must be off, log, mend, block, not "blokc"; did you mean "block"?',
  ],
  [
    'YAML 1.2 off', 'rules: { wire/id: false }',
    ':1:10: rules.wire/id: must be off, log, mend, block, not false',
  ],
  [
    'demote of a call', 'rules: { call/denied: demote }',
    ':1:10: rules.call/denied: must be off, log, mend, block, not "demote"',
  ],
  ['a limit too low', 'limits: { depth: 0 }', ':1:11: limits.depth: must be a whole number from 8 to 1000'],
  ['half a millisecond', 'limits: { listMs: 0.5 }', ':1:11: limits.listMs: must be a whole number, not 0.5'],
  ['a limit in words', 'limits: { listMs: 10s }', ':1:11: limits.listMs: must be a whole number, not text'],
  ['trust in nothing', 'trust: [{}]', ':1:9: trust.0: must have exactly one of command, package, url'],
  [
    'trust in two things', 'trust: [{ url: "https://a/", package: a@1.0.0 }]',
    ':1:9: trust.0: must have exactly one of command, package, url',
  ],
  ['trust in no words', 'trust: [{ command: [] }]', ':1:11: trust.0.command: must name a program'],
  [
    'a command line in one word', 'trust: [{ command: node x }]',
    ':1:11: trust.0.command: must be a list, not text',
  ],
  [
    'half a digest', 'trust: [{ command: [a], sha256: 9f86d0 }]',
    ':1:25: trust.0.sha256: must be 64 hex digits',
  ],
  [
    'a digest of a URL', 'trust: [{ url: "https://a/", sha256: x }]',
    ':1:30: trust.0.sha256: must be 64 hex digits',
  ],
  [
    'a range of versions', 'trust: [{ package: a@^1.0.0 }]',
    /: trust\.0\.package: must be NAME@VERSION with an exact version/,
  ],
  ['a tag', 'trust: [{ package: a@latest }]', /: trust\.0\.package: must be NAME@VERSION/],
  ['no version', 'trust: [{ package: "@a/b" }]', /: trust\.0\.package: must be NAME@VERSION/],
  ['plain HTTP elsewhere', 'trust: [{ url: "http://a.example/" }]', /: trust\.0\.url: must be an https URL/],
  [
    'a URL with a user', 'trust: [{ url: "https://u:p@a.example/" }]',
    /: trust\.0\.url: must be an https URL/,
  ],
  ['a URL with a query', 'trust: [{ url: "https://a.example/?a" }]', /: trust\.0\.url: must be an https URL/],
  ['a server that is neither', server(''), ':1:12: servers.a: must have either command or url'],
  [
    'a server that is both', server('url: "https://a/", command: [a]'),
    ':1:12: servers.a: must have either command or url',
  ],
  [
    'headers for a process', server('command: [a], headers: {}'),
    ':1:31: servers.a.headers: goes only with url',
  ],
  [
    'an environment for a URL', server('url: "https://a/", env: {}'),
    ':1:36: servers.a.env: goes only with command',
  ],
  [
    'a number in the environment', server('command: [a], env: { PORT: 80 }'),
    ':1:38: servers.a.env.PORT: must be text, not a number',
  ],
  ['a server with a slash', 'servers: { a/b: { command: [a] } }', /: servers\.a\/b: a server is named with/],
  ['a server named ..', 'servers: { "..": { command: [a] } }', /: servers\."\.\.": a server is named with/],
  [
    'a desktop client\'s args', server('command: [a], args: [b]'),
    ':1:31: servers.a.args: unknown key; its words belong into command: [COMMAND, ARG, …]',
  ],
  [
    'a URL with what may be a secret', server('url: "ftp://ada:hunter2@a/b?token=hunter3"'),
    ':1:17: servers.a.url: must be an https or http URL, not "ftp://…@a/b…"',
  ],
  [
    'a placeholder for a token', 'auth: { tokens: [replace-me] }',
    /: auth\.tokens\.0: is still the placeholder "replace-me": put the real value there/,
  ],
  [
    'a placeholder in a header', server('url: "https://a/", headers: { Authorization: "Bearer change_me" }'),
    /: servers\.a\.headers\.Authorization: is still the placeholder "change_me"/,
  ],
  [
    'a placeholder for a password', 'state: { url: "redis://:replace-me@a:6379", key: "0123456789abcdef0123" }',
    /: state\.url: is still the placeholder "replace-me"/,
  ],
  [
    'a URL of another kind', server('url: "file:///etc"'),
    ':1:17: servers.a.url: must be an https or http URL, not "file:///etc"',
  ],
  [
    'a URL with a password', server('url: "https://u:hunter2@a/"'),
    ':1:17: servers.a.url: must not hold a user or password: send a header',
  ],
  [
    'a header with a line end', server('url: "https://a/", headers: { A: "b\\r\\nC: d" }'),
    /: servers\.a\.headers\.A: must be text on one line/,
  ],
  [
    'no name for a header', server('url: "https://a/", headers: { "A B": c }'),
    ':1:47: servers.a.headers."A B": no name for a header',
  ],
  [
    'a header twice', server('url: "https://a/", headers: { A: b, a: c }'),
    ':1:53: servers.a.headers.a: this header stands here twice',
  ],
  [
    'a key without its certificate', server('url: "https://a/", tls: { key: k }'),
    ':1:43: servers.a.tls.key: goes only with cert',
  ],
  [
    'a misspelt denial', server('command: [a], tools: { b.c: denied }'),
    ':1:40: servers.a.tools."b.c": must be deny, or a map of outputSchema, resultSchema, relaxed, structured, annotations, deny, scopes, title, description, inputSchema, timeoutMs, callsPerMinute, resultBytes',
  ],
  [
    'a denial by a pattern that is none', server('command: [a], tools: { "*_delete": deny }'),
    /servers\.a\.tools\."\*_delete": is a pattern: patterns stand in allow and deny/,
  ],
  [
    'no rate', server('command: [a], tools: { b: { callsPerMinute: 0 } }'),
    /servers\.a\.tools\.b\.callsPerMinute: must be a whole number from 1 to 100000/,
  ],
  [
    'an argument of which nothing is said', server('command: [a], tools: { b: { inputSchema: { properties: { c: {} } } } }'),
    /inputSchema\.properties\.c: must have title, description or default/,
  ],
  [
    'a token that nobody has', 'auth: { tokens: { ci: t } }\nclients: [{ match: { token: ic }, deny: [x] }]',
    /clients\.0\.match\.token: auth\.tokens has no token named "ic"/,
  ],
  [
    'a subject without an issuer', server('command: [a], clients: [{ match: { subject: s }, deny: [x] }]'),
    /servers\.a\.clients\.0\.match\.subject: needs auth\.issuer/,
  ],
  ['a revision that is none', 'minRevision: 2025-01-01', /minRevision: must be 2024-11-05, .*2026-07-28, not "2025-01-01"/],
  [
    'a misspelt hint', server('command: [a], tools: { b: { annotations: { readonlyHint: true } } }'),
    /annotations\.readonlyHint: unknown key; did you mean "readOnlyHint"\?/,
  ],
  [
    'a promotion without a schema', server('command: [a], tools: { b: { structured: from-text } }'),
    /servers\.a\.tools\.b\.structured: goes only with outputSchema/,
  ],
  [
    'a schema that is none', server('command: [a], tools: { b: { outputSchema: [] } }'),
    ':1:45: servers.a.tools.b.outputSchema: must be a JSON Schema or the path of one',
  ],
  [
    'no schema file', server('command: [a], tools: { b: { outputSchema: none.json } }'),
    /none\.json: cannot be read: .*\(ENOENT\)/,
  ],
  [
    'a broken schema file', server('command: [a], tools: { b: { outputSchema: broken.json } }'),
    /broken\.json:1:3: not JSON: nothing stands between "," and "\}"$/,
  ],
  [
    'a schema file that holds no schema', server('command: [a], tools: { b: { outputSchema: list.json } }'),
    /^:1:45: servers\.a\.tools\.b\.outputSchema: .*list\.json holds no JSON Schema$/,
  ],
  [
    'a schema file that is no valid schema',
    server('command: [a], tools: { b: { outputSchema: strnig.json } }'),
    /^:1:45: servers\.a\.tools\.b\.outputSchema: .*strnig\.json is no valid JSON Schema: \/type: must name types/,
  ],
  [
    'an inline schema that is no valid one',
    server('command: [a], tools: { b: { outputSchema: { pattern: "(" } } }'),
    ':1:45: servers.a.tools.b.outputSchema: is no valid JSON Schema: /pattern: must be a regular expression (pattern)',
  ],
  [
    'a schema that refers to nothing',
    server('command: [a], tools: { b: { outputSchema: { $ref: "#/x" } } }'),
    /is no valid JSON Schema: \/\$ref: refers to nothing/,
  ],
  [
    'headers twice in other case', server('url: "https://a/", headers: { Host: a, HOST: b }'),
    ':1:56: servers.a.headers.HOST: this header stands here twice',
  ],
  [
    'two places for authorities', server('url: "https://a/", ca: a, tls: { ca: b }'),
    ':1:36: servers.a.ca: stands in tls as well: give one of them',
  ],
  [
    'no name for a variable', server('command: [a], inheritEnv: [""]'),
    ':1:44: servers.a.inheritEnv.0: no name for an environment variable',
  ],
  [
    'an inheritance in words', server('command: [a], inheritEnv: all'),
    ':1:31: servers.a.inheritEnv: must be true, false or a list of names',
  ],
  [
    'a client without its issuer', server('url: "https://a/", auth: { clientId: x, clientSecret: y }'),
    /: servers\.a\.auth\.clientId: goes only with issuer$/,
  ],
  [
    'the document of a client without its issuer', server('url: "https://a/", auth: { clientMetadataUrl: "https://c/d" }'),
    /: servers\.a\.auth\.clientMetadataUrl: goes only with issuer$/,
  ],
  ['no tokens', 'auth: {}', ':1:1: auth: must have tokens, an issuer or facade, or be the word facade'],
  ['another word for auth', 'auth: open', ':1:1: auth: must have tokens, an issuer or facade, or be the word facade'],
  ['a facade that is none', 'auth: { facade: false }', ':1:9: auth.facade: must be true, not false'],
  [
    'a facade beside an issuer', 'auth: { facade: true, issuer: "https://a.example", audience: "https://b.example" }',
    ':1:9: auth.facade: stands beside issuer: give one of them',
  ],
  [
    'a facade at an insecure URL', 'auth: { facade: true, audience: "http://a.example" }',
    ':1:23: auth.audience: must be https',
  ],
  [
    'an audience alone', 'auth: { tokens: [a], audience: "https://a.example" }',
    ':1:22: auth.audience: goes only with issuer or facade',
  ],
  [
    'a facade for a process', 'auth: facade\nservers: { a: { command: [b] } }',
    ':2:17: servers.a.command: has no login, and auth.facade asks for one: add auth.tokens, or give it a url',
  ],
  [
    'a facade and a static header', 'auth: facade\nservers: { a: { url: "https://a.example", upstream: none } }',
    ':2:43: servers.a.upstream: goes not with auth.facade: the server gets the token of each user',
  ],
  [
    'a facade and a header', 'auth: facade\nservers: { a: { url: "https://a.example", headers: { authorization: "x" } } }',
    ':2:43: servers.a.headers: Authorization goes not with auth.facade: the server gets the token of each user',
  ],
  [
    'another upstream', server('url: "https://a.example", upstream: some'),
    ':1:43: servers.a.upstream: must be none, passthrough, static, oauth, not "some"; did you mean "none"?',
  ],
  [
    'a state without a secret', 'state: { url: "redis://h" }',
    ':1:1: state: must have key',
  ],
  [
    'a state with a password, which is no secret of the replicas', 'state: { url: "redis://:password@h" }',
    ':1:1: state: must have key',
  ],
  [
    'a password that cannot be read', 'state: { url: "redis://:a%b@h", key: 0123456789abcdef }',
    ':1:10: state.url: has a password with a % that encodes nothing: write %25',
  ],
  [
    'a replica whose name holds the end of a name', 'sessions: { replica: "a:b" }',
    ':1:13: sessions.replica: must begin with a letter or digit, and have at most 63 letters, digits, dots, ' +
      'hyphens and underscores',
  ],
  ['an upstream of a process', server('command: [b], upstream: none'), ':1:31: servers.a.upstream: goes only with url'],
  [
    'a static upstream without headers', server('url: "https://a.example", upstream: static'),
    ':1:43: servers.a.upstream: static needs headers',
  ],
  [
    'two upstreams', server('url: "https://a.example", upstream: none, headers: { authorization: a }'),
    ':1:43: servers.a.upstream: none contradicts the Authorization of headers: that is static',
  ],
  [
    'passthrough beside an issuer',
    'auth: { issuer: "https://a.example", audience: "https://b.example" }\n' +
    'servers: { a: { url: "https://a.example", upstream: passthrough } }',
    ':2:43: servers.a.upstream: cannot be passthrough beside auth: the client\'s token is for this relay, and the ' +
    'specification forbids to pass it on. Send a token of your own (static), or none',
  ],
  [
    'passthrough beside tokens',
    'auth: { tokens: [a] }\nservers: { a: { url: "https://a.example", upstream: passthrough } }',
    /: servers\.a\.upstream: cannot be passthrough beside auth/,
  ],
  [
    'an empty list of tokens', 'auth: { tokens: [] }',
    ':1:9: auth.tokens: must hold a token; leave auth out for an open door',
  ],
  ['an empty token', 'auth: { tokens: ["${env:EMPTY}"] }', /: auth\.tokens\.0: must be a token/],
  [
    'a token with a space', 'auth: { tokens: ["${env:CLIENT_TOKEN} "] }',
    /: auth\.tokens\.0: must be a token/,
  ],
  [
    'an unset variable', 'auth: { tokens: ["${env:NOT_SET}"] }',
    ':1:18: auth.tokens.0: the environment variable NOT_SET is not set',
  ],
  [
    'an inherited variable', 'auth: { tokens: ["${env:toString}"] }',
    ':1:18: auth.tokens.0: the environment variable toString is not set',
  ],
  [
    'an unclosed reference', 'auth: { tokens: ["${env:CLIENT_TOKEN"] }',
    ':1:18: auth.tokens.0: a reference to the environment is spelt ${env:NAME}',
  ],
  [
    'a reference to nothing', 'auth: { tokens: ["${env:}"] }',
    ':1:18: auth.tokens.0: a reference to the environment is spelt ${env:NAME}',
  ],
  [
    'a secret for an action', 'rules: { wire/id: "${env:CLIENT_TOKEN}" }',
    ':1:10: rules.wire/id: must be off, log, mend, block, not "${env:CLIENT_TOKEN}"',
  ],
  [
    'a misspelt period', 'audit: { rotate: dayly }',
    ':1:10: audit.rotate: must be never, hourly, daily, not "dayly"; did you mean "daily"?',
  ],
  [
    'a file that is full at once', 'audit: { maxBytes: 1 }',
    ':1:10: audit.maxBytes: must be a whole number from 4096 to 1099511627776',
  ],
  [
    'a misspelt kind of payloads', 'audit: { payloads: digests }',
    ':1:10: audit.payloads: must be none, digest, redacted, full, not "digests"; did you mean "digest"?',
  ],
  ['a certificate alone', 'tls: { cert: c.pem }', ':1:1: tls: must have key'],
  ['an origin with a path', 'allowOrigins: ["https://a.example/"]', /: allowOrigins\.0: must be an origin/],
  [
    'a server under two names of the key', 'servers: { a: { command: [b] } }\nmcpServers: { a: { command: b } }',
    ':2:15: mcpServers.a: a server of this name stands under servers as well',
  ],
  [
    'a client\'s server with a setting of ours', 'mcpServers: { a: { command: b, policy: strict } }',
    ':1:32: mcpServers.a.policy: belongs to a server under servers, with our own form',
  ],
  ['a client\'s server that is neither', 'mcpServers: { a: { args: [b] } }', /: mcpServers\.a/],
  [
    'a client\'s list as a command', 'mcpServers: { a: { command: [b] } }',
    ':1:20: mcpServers.a.command: must be text, not a list',
  ],
  ['a key of nobody beside one of ours', 'policy: strict\nmcpServers: {}\nshortcut: F1', /: shortcut: unknown key/],
  ['any origin', 'allowOrigins: ["*"]', /: allowOrigins\.0: must be an origin/],
  ['any host', 'allowHosts: ["*"]', /: allowHosts\.0: must be a host/],
  ['a key that stands twice', 'policy: strict\npolicy: observe', ':2:1: the key "policy" stands here twice'],
  ['broken YAML', 'rules: {', /^:\d+:\d+: /],
] as const

for (const [name, text, message] of wrong) {
  t.test(`${name} is refused, in one line that says where`, async t => {
    const directory = t.testdir({
      'customs.yaml': text, 'broken.json': '{,}', 'list.json': '[1]', 'strnig.json': '{"type":"strnig"}',
    })
    const file = join(directory, 'customs.yaml')
    const error: unknown = await readConfiguration(file, environment).catch((error: unknown) => error)
    t.match(error, { name: 'CustomsError', code: 'BAD_CONFIG', exitCode: 2 })
    const said = (error as Error).message
    if (typeof message === 'string') t.equal(said, file + message)
    else t.match(said.replace(file, ''), message)
    t.notMatch(said, /\n|s3cret|hunter2/)
  })
}

t.test('servers are read in the form of clients too', async t => {
  const directory = t.testdir({
    'mcp.json': JSON.stringify({ inputs: [], shell: '${env:NOT_SET}', mcpServers: {
      a: { type: 'stdio', command: 'npx', args: ['-y', 'b'], env: { KEY: '${env:FILES_TOKEN}' }, timeout: 5 },
      c: { type: 'http', url: 'https://c.example/mcp', headers: { 'X-Key': 'd' }, tools: ['*'] },
      e: { command: 'f', disabled: true },
    } }),
    'ours.yaml': 'policy: strict\nservers: { a: { command: [b] } }\nmcpServers: { c: { command: d, cwd: e } }',
  })
  const { servers } = await readConfiguration(join(directory, 'mcp.json'), environment)
  t.match([...servers], [
    ['a', { command: ['npx', '-y', 'b'], env: new Map([['KEY', 's3cret-files']]), inheritEnv: undefined }],
    ['c', { url: 'https://c.example/mcp', headers: new Map([['x-key', 'd']]) }],
  ])
  t.equal(servers.size, 2)
  const ours = await readConfiguration(join(directory, 'ours.yaml'), environment)
  t.equal(ours.policy?.preset, 'strict')
  t.match([...ours.servers], [['a', { command: ['b'] }], ['c', { command: ['d'], cwd: join(directory, 'e') }]])
})

t.test('a file that cannot be used is refused', async t => {
  const directory =
    t.testdir({
      'latin1.json': Buffer.from([0x7b, 0xff, 0x7d]), 'long.json': ' '.repeat(300_000), folder: {},
    })
  const read = (name: string) => readConfiguration(join(directory, name), {})
  await t.rejects(
    read('none.yaml'), { code: 'BAD_CONFIG', message: /none\.yaml: cannot be read: .*\(ENOENT\)$/ },
  )
  await t.rejects(read('folder'), { code: 'BAD_CONFIG', message: /folder: cannot be read: .*\(EISDIR\)$/ })
  await t.rejects(read('latin1.json'), { code: 'BAD_CONFIG', message: /latin1\.json: not UTF-8$/ })
  await t.rejects(read('long.json'), { code: 'BAD_CONFIG', message: /long\.json: longer than 262144 bytes$/ })
})

t.test('a trust list is read by itself', async t => {
  const directory =
    t.testdir({ 'trust.yaml': 'trust:\n  - url: https://mcp.example.com/\n', 'bad.yaml': 'trusted: []\n' })
  t.strictSame(await readTrustList(join(directory, 'trust.yaml'), {}), [{ url: 'https://mcp.example.com/' }])
  await t.rejects(
    readTrustList(join(directory, 'bad.yaml'), {}),
    { message: /trusted: unknown key; did you mean "trust"\?/ },
  )
})

t.test('the examples are valid', async t => {
  const example = (name: string) => new URL(`../../../config/examples/${name}`, import.meta.url).pathname
  t.equal((await readConfiguration(example('gateway.yaml'), environment)).servers.size, 2)
  const { merge } = await readConfiguration(example('merged.yaml'), environment)
  t.match(merge, { path: '/mcp', servers: [{ name: 'files', prefix: 'fs' }, { name: 'memory', prefix: 'memory' }] })
  t.equal((await readTrustList(example('trust.yaml'), {})).length, 3)
})

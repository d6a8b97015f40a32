import fc from 'fast-check'
import t from 'tap'
import { redact } from '#audit/redact.js'
import { isSecretKey } from '#audit/secret-names.js'
import { secretPrefixes, withoutSecrets } from '#audit/secrets.js'
import { beginning, nextLine } from '#audit/record.js'
import type { Json } from '#protocol/unmetered.js'
import { entry } from './entries.js'

const secretKeys = [
  'password', 'Password', 'userPassword', 'user_password', 'PASSWD', 'passphrase', 'pwd', 'db.pwd', 'token',
  'accessToken',
  'x-auth-token', 'refresh_token', 'Authorization', 'proxy-authorization', 'api_key', 'apiKey', 'API-Key',
  'X-Api-Key',
  'secret', 'client_secret', 'AWS_SECRET_ACCESS_KEY', 'private_key', 'Cookie', 'set-cookie', 'credentials',
  'auth', 'pin', 'otp',
  'DB_PASS', 'db_pass', 'userPass', 'SMTP_PASS', 'smtp.pass', 'dbpass', 'MYSQLPASS', 'user_pw', 'dbpw',
  'X-Amz-Signature', 'sig', 'X-Amz-Credential',
  'encryption_key', 'HMAC_KEY', 'license-key', 'PHPSESSID', 'JSESSIONID', 'connect.sid', 'user_pin', 'smsOtp',
  'basic_auth', 'slack_webhook_url',
  'pass\u200bword', 'p\u00adassword', 'ｐａｓｓｗｏｒｄ', 'pass\u0000word', 'pa\u0301ssword', 'ᴾassword',
]
const plainKeys = [
  'compass', 'bypass', 'overpass', 'trespass', 'underpass', 'encompass', 'monkey', 'primary_key', 'publicKey',
  'sort-key', 'passport', 'design', 'signal',
  'desktop', 'authors', 'spinning', 'city', 'name', 'author', 'passenger', 'pinned', 'keyboard', 'key',
  'authority', 'opinion', 'Stadt', '名前', '',
]

t.test('keys that name secrets are known, in any spelling', t => {
  for (const key of secretKeys) t.ok(isSecretKey(key), JSON.stringify(key))
  for (const key of plainKeys) t.notOk(isSecretKey(key), JSON.stringify(key))
  t.end()
})

const s = 'zq7Hk2vN9xWp4LtR8sYb' // no word of it is in any other text
const jwt = `eyJhbGciOiJIUzI1NiJ9.eyJzdWIi${s}.${s}`
const key = `-----BEGIN RSA PRIVATE KEY-----\n${s}\n${s}\n-----END RSA PRIVATE KEY-----`

/** Texts that hold the secret `s`, which must go, and what else of them must stay. */
const texts = [
  [`sk-${s}`, ''],
  [`the key is sk-proj-${s}, keep it`, 'keep it'],
  [`ghp_${s}`, ''],
  [`github_pat_${s}`, ''],
  [`glpat-${s}`, ''],
  [`xoxb-123-${s}`, ''],
  [`AIza${s}${s}`, ''],
  [jwt, ''],
  [`see ${jwt} there`, 'there'],
  [key, ''],
  [`before ${key} after`, 'after'],
  [`-----BEGIN PRIVATE KEY-----\n${s}`, ''],
  [`Bearer ${s}`, 'Bearer'],
  [`curl -H "authorization: bearer ${s}" https://a.example`, 'curl'],
  [`Authorization: Basic ${s}=`, 'Authorization'],
  [`Cookie: theme=dark; sid=${s}\nHost: a.example`, 'Host: a.example'],
  [`https://user:${s}@a.example/path`, 'a.example/path'],
  [`https://a.example/?access_token=${s}&page=2`, '&page=2'],
  [`PASSWORD=${s}`, 'PASSWORD'],
  [`export DB_PASSWORD="two words ${s}" && run`, 'run'],
  [`export DB_PASSWORD="a \\" quote ${s}" && run`, 'run'],
  [`password: two words ${s}\nuser: bob`, 'user: bob'],
  [`{ password: '${s}', user: 'bob' }`, "user: 'bob'"],
  [`tool --api-key ${s} --verbose`, '--verbose'],
  [`tool --api-key=${s} --verbose`, '--verbose'],
  [`log: body="{\\"password\\":\\"${s}\\",\\"user\\":1}"`, 'user'],
  [`{"password":"${s}","user":"bob"}`, '"user":"bob"'],
  [`{"pass\\u0077ord":"${s}","user":"bob"}`, '"user":"bob"'],
  [JSON.stringify(JSON.stringify({ deep: JSON.stringify({ token: s }) })), 'deep'],
  [`DB_PASS=${s} run`, 'run'],
  [`SMTP_PASS: ${s}\nSMTP_HOST: a.example`, 'SMTP_HOST: a.example'],
  [`{"db_pass":"${s}","userPass":"${s}","n":1}`, '"n":1'],
  [`the password ${s} is new`, 'is new'],
  [`my password is ${s}, keep it`, 'keep it'],
  [`postgres://admin:pa/ss#${s}@db/app`, 'db/app'],
  [`postgres://admin:p@${s}@db/app`, 'db/app'],
  [`redis://:12/${s}@db`, 'db'],
  [`https://admin:pa/${s}@a.example/path`, 'a.example/path'],
  [`https://a.example/?sig=${s}&page=2`, '&page=2'],
  [`https://a.example/?X-Amz-Credential=x&X-Amz-Signature=${s}&page=2`, '&page=2'],
  [`https://a.example/?key=${s}&page=2`, '&page=2'],
  [`https://a.example/callback?code=${s}#top`, '#top'],
  [`https://a.example/callback#state=1&code=${s}`, 'state=1'],
  [`https://hooks.slack.com/services/T000/B000/${s} posts`, 'posts'],
  [`https://discord.com/api/webhooks/123/${s}`, 'https://discord.com'],
  [`https://acme.webhook.office.com/webhookb2/${s}@x/IncomingWebhook/y`, 'acme'],
  [`https://api.telegram.org/bot123456:AA${s}/sendMessage`, '/sendMessage'],
  [`Set-Cookie: PHPSESSID=${s}`, 'Set-Cookie'],
  [`PHPSESSID=${s}; theme=dark`, 'theme=dark'],
  // Each of these kept its secret once: markup, YAML, Ruby and PHP, prose, Python, lists, HTTP, encoded
  // addresses, long ones, alignment.
  [`<password>${s}</password><user>bob</user>`, '<user>bob</user>'],
  [`<a:ClientSecret x="1"><![CDATA[${s}]]></a:ClientSecret>`, 'x="1"'],
  [`<entry key="db.password">${s}</entry> <entry key="user">bob</entry>`, 'bob'],
  [`<string name='api_key'>${s}</string>`, 'api_key'],
  [`<input name="password" value="${s}"> <input name="user" value="bob">`, 'value="bob"'],
  [`<input value='${s}' type=password>`, 'type=password'],
  [`env:\n  - name: DB_PASSWORD\n    value: ${s}\n  - name: USER\n    value: bob`, 'value: bob'],
  [`{name: "DB_PASSWORD", value: "${s}"}, n`, ', n'],
  [`password: |\n  ${s}\n  ${s}\nuser: bob`, 'user: bob'],
  [`password: >-\n\n    ${s}\nuser: bob`, 'user: bob'],
  [`['password' => '${s}', 'user' => 'bob']`, "'user' => 'bob'"],
  [`:password => "${s}", :user => "bob"`, ':user => "bob"'],
  [`password := "${s}"; user := "bob"`, 'user := "bob"'],
  [`The API key: ${s}\nuser: bob`, 'user: bob'],
  [`the access key = ${s} is new`, 'is new'],
  [`PASSWORD '${s}' FOR bob`, 'FOR bob'],
  [`clientSecret "${s}" there`, 'there'],
  [`my password is: ${s}\nuser: bob`, 'user: bob'],
  [`f(password=b'${s}', user='bob')`, "user='bob'"],
  [`f(passwords=["a", "${s}"], n=1)`, 'n=1'],
  [`tokens: [a, ${s}]\nn: 1`, 'n: 1'],
  [`secrets = {\n  a = "x"\n  b = ["${s}"]\n}\nn = 1`, 'n = 1'],
  [`authorization=Digest username="bob", response="${s}"\nHost: a`, 'Host: a'],
  [`next=%2Flogin%3Fpassword%3D${s}&page=2`, '&page=2'],
  [`next=%252Flogin%253Fpassword%253D${s}&page=2`, '&page=2'],
  [`%22password%22%3A%22${s}%22 there`, 'there'],
  [`https://bob:${'a'.repeat(400)}${s}@a.example/path`, 'a.example/path'],
  [`postgres://${'b'.repeat(400)}:${s}@db/app`, 'db/app'],
  [`password:${' '.repeat(40)}${s}\nuser: bob`, 'user: bob'],
  [`Bearer${' '.repeat(20)}${s}`, 'Bearer'],
  [`curl -u admin:${s} https://a.example`, 'admin'],
  [`curl --user=admin:${s} https://a.example`, 'https://a.example'],
  // In disguise, the whole text goes.
  [`gh\u200bp_${s}`, ''],
  [`ｓｋ-${s}`, ''],
  [`pass\u200bword=${s}`, ''],
  [`pass\u0000word=${s}`, ''],
] as const

t.test('what begins as a published kind of secret goes', t => {
  for (const prefix of secretPrefixes) t.notMatch(redact(`see ${prefix}${s} there`), s, prefix)
  for (const known of [
    `AKIA${s.toUpperCase()}`, `LTAI${s}`, `key-${'0f'.repeat(16)}`, `SK${'0f'.repeat(16)}`,
    `${'0f'.repeat(16)}-us12`,
  ]) {
    t.equal(redact(`see ${known} there`), 'see [redacted] there')
  }
  t.equal(redact('Basic dXNlcjpwYXNz'), 'Basic [redacted]', 'short credentials without padding')
  t.end()
})

/** Values that hold the secret `s`, and what of them must stay. */
const values: readonly (readonly [Json, string])[] = [
  [{ api: { key: s, user: 'bob' } }, 'bob'],
  [{ session: { id: s }, n: 'bob' }, 'bob'],
  [{ key: 'DB_PASSWORD', val: s }, 'DB_PASSWORD'],
  [['--user', `admin:${s}`, 'bob'], 'admin'],
  [{ args: ['-u', `admin:${s}`] }, 'admin'],
  [{ columns: ['user', 'password'], rows: [['bob', s]] }, 'bob'],
  [{ fields: [{ name: 'user' }, { name: 'api_key' }], records: [['bob', { deep: s }]] }, 'bob'],
]

t.test('secrets in values go, the rest stays', t => {
  for (const [value, rest] of values) {
    const clean = JSON.stringify(redact(value))
    t.notMatch(clean, s)
    t.match(clean, rest)
  }
  t.strictSame(redact({ issue: { key: 'A-1' }, columns: ['a', 'b'], rows: [['c', 'd']] }), {
    issue: { key: 'A-1' }, columns: ['a', 'b'], rows: [['c', 'd']],
  })
  t.end()
})

t.test('secrets in texts go, the rest stays', t => {
  for (const [text, rest] of texts) {
    const redacted = redact(text)
    const clean = typeof redacted === 'string' ? redacted : ''
    t.notMatch(clean, s, text)
    t.ok(clean.includes(rest), `${text} -> ${clean}`)
  }
  t.end()
})

const harmless = [
  'the quick brown fox', 'https://a.example/path?page=2', 'mail bob@a.example', '2026-11-20T12:00:00Z',
  '{"city":"Bern"}',
  'sk-1', 'risk-assessment-of-everything', 'a basic understanding', 'the bearer of news', 'Zürich ☀️ 20°',
  'مرحبا', 'नमस्ते',
  'https://registry.example:8080/@scope/package', 'https://a.example:8080/x:y@z', 'password expired',
  'the token is invalid', 'pass the salt2you',
  'basic instructions', 'monkey=1', 'primary_key=id', 'bypass=yes', '12:30 AAAA', 'see 10:AAA', 'sk-1',
  'ghp_', 'https://a.example/?page=2&keyword=x',
  'const author = 1', '<b>bold</b> text', '<input name="q" value="x">', 'name: bob\nvalue: x', 'the key: x',
  'a [b] (c)', 'token count"', 'x://y z', 'passenger: bob', '[not json',
]

t.test('what is no secret stays as it is', t => {
  for (const text of harmless) t.equal(redact(text), text)
  t.end()
})

t.test('below a secret name everything is hidden, and the structure shows', t => {
  t.strictSame(redact({ user: 'bob', credentials: { id: 7, list: ['a', null], on: true }, n: 1 }), {
    user: 'bob',
    credentials: { id: '[redacted]', list: ['[redacted]', null], on: '[redacted]' },
    n: 1,
  })
  t.strictSame(redact([{ name: 'Authorization', value: s }, { name: 'Accept', value: 'x' }]), [
    { name: 'Authorization', value: '[redacted]' },
    { name: 'Accept', value: 'x' },
  ])
  for (const pair of [
    ['label', 'Password'], ['type', 'password'], ['id', 'api_key'], ['Title', 'API key'], ['name', 'DB_PASS'],
  ] as const) {
    t.strictSame(redact({ [pair[0]]: pair[1], value: s }), { [pair[0]]: pair[1], value: '[redacted]' })
  }
  t.strictSame(redact({ type: 'text', text: 'Fine.' }), { type: 'text', text: 'Fine.' })
  t.strictSame(redact(['--token', s, '--verbose', 'x']), ['--token', '[redacted]', '--verbose', 'x'])
  t.strictSame(redact([['Cookie', s], ['Accept', 'x']]), [['Cookie', '[redacted]'], ['Accept', 'x']])
  t.strictSame(redact({ [`ghp_${s}`]: 1 }), { '[redacted]': 1 })
  t.strictSame(redact(JSON.parse('{"__proto__":{"token":"x"}}') as Json), JSON.parse(
    '{"__proto__":{"token":"[redacted]"}}',
  ))
  t.end()
})

t.test('a secret is in no record, wherever it was put', t => {
  const plant = fc.oneof(
    fc.constantFrom(...texts.map(([text]) => text)),
    fc.constantFrom(...values.map(([value]) => value)),
    fc.constantFrom(...secretKeys).map(name => ({ [name]: s })),
    fc.constantFrom(...secretKeys).map(name => JSON.stringify([{ [name]: { value: [s] } }])),
  )
  const { tree } = fc.letrec<{ tree: unknown }>(tie => ({
    tree: fc.oneof(
      { maxDepth: 4 },
      plant,
      fc.string(),
      fc.array(tie('tree'), { maxLength: 3 }),
      fc.dictionary(fc.string(), tie('tree'), { maxKeys: 3 }),
    ),
  }))
  fc.assert(fc.property(tree, value => {
    const bytes = Buffer.from(JSON.stringify(value))
    const { text: line } =
      nextLine(entry({ arguments: bytes, result: bytes }), beginning, 'redacted', new Date(0))
    return !line.includes(s)
  }), { numRuns: 500 })
  t.end()
})

t.test('findings and reasons hold no secret either', t => {
  const finding =
    { rule: 'call/arguments', path: `/params/arguments/sk-${s}`, message: `must not be "ghp_${s}"` } as const
  const given = entry({ findings: [finding], reason: `gone: https://u:${s}@a.example/` })
  for (const payloads of ['none', 'digest', 'redacted'] as const) {
    t.notMatch(nextLine(given, beginning, payloads, new Date(0)).text, s)
  }
  t.end()
})

t.test('no text takes long to search', t => {
  // What is quadratic takes minutes at this length, and the test's own limit ends it.
  const length = 1_000_000
  const pieces = [
    'eyJ', '-eyJ', 'eyJaaaaaaaa.', 'a=', 'a="', 'password="', 'password=\\"', 'password:', "token='",
    '--token ', '://', '://a:', 'bearer ', 'basic ',
    '-----BEGIN PRIVATE KEY-----', '-----BEGIN ', 'sk-', '\\', ' ', '=', '"', 'ghp_', 'SG.a', 'SG.aaaaaaaa.',
    'é\u200b', 'AKIA', 'basic aaaa', 'basic a', '://a:b', '://a:/', '?key=', 'password a', 'password 1 ',
    '1:', '1:AA', 'bot1:AA', 'hooks.slack.com/services/', 'key-', 'cookie: \n', '<', '<a ', '<password>',
    '<a name=', 'name:', 'name: password, ', 'password: |\n ', 'password=[', 'api key ', 'key %3D',
    'password is ', '-u ', '-u a:', 'auth=digest ', '@', '://a@', '<a><![CDATA[',
  ]
  for (const piece of pieces) {
    t.type(withoutSecrets(piece.repeat(length / piece.length)), 'string')
  }
  t.end()
})

t.test('a payload too long to be searched is not kept', t => {
  const { text: line } = nextLine(
    entry({ result: Buffer.from(JSON.stringify('x'.repeat(300_000))) }), beginning, 'redacted', new Date(0),
  )
  t.match(line, '"payload":{"result":"[300002 bytes]"}')
  t.end()
})

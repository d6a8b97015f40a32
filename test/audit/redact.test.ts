import fc from 'fast-check'
import t from 'tap'
import { redact } from '#audit/redact.js'
import { isSecretKey } from '#audit/secret-names.js'
import { secretPrefixes } from '#audit/secrets.js'
import { beginning, nextLine } from '#audit/record.js'
import { quote } from '#protocol/quote.js'
import { pointer, type Json } from '#protocol/unmetered.js'
import { entry } from './entries.js'
import { encoded, leaks, lined, s, texts, values } from './forms.js'

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
  for (const [text, rest] of [...texts, ...lined]) {
    const redacted = redact(text)
    const clean = typeof redacted === 'string' ? redacted : ''
    t.notMatch(clean, s, text)
    t.ok(clean.includes(rest), `${text} -> ${clean}`)
  }
  t.end()
})

t.test('the base64 of a text with a secret goes, other base64 stays', t => {
  for (const base64 of encoded) {
    t.equal(redact(`data:text/plain;base64,${base64} there`), 'data:text/plain;base64,[redacted] there')
    t.strictSame(redact({ mimeType: 'a/b', blob: base64 }), { mimeType: 'a/b', blob: '[redacted]' })
    t.equal(redact(Buffer.from(`see ${base64}`).toString('base64')), '[redacted]', 'base64 of base64')
  }
  const harmless = Buffer.from('the quick brown fox jumps over the lazy dog').toString('base64')
  t.equal(redact(harmless), harmless)
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
  'a [b] (c)', 'a == b || c', 'a, b\nc, d', '| user | city |\n| bob | Bern |', '100% of %20 &amp; &lt;b&gt;',
  'setenv("NAME", "x")', 'one of ("token", "basic")', '[\n  "passwd",\n  "adduser"\n', 'k: v\n  w', '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----',
  'src/audit/read/follow-and-more-of-it.ts', 'token count"', 'x://y z', 'passenger: bob', '[not json',
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
    fc.constantFrom(...[...texts, ...lined].map(([text]) => text)),
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

type More = Parameters<typeof entry>[0]

/** The places of a record that hold a text of a client or server. */
const places: Readonly<Record<string, (text: string) => More>> = {
  'the method': text => ({ event: `method:${text}` }),
  'the client': text => ({ client: { name: text, version: text } }),
  'the revision': text => ({ revision: text }),
  'the id': text => ({ id: text }),
  'the tool': text => ({ tool: text }),
  'the tools': text => ({ tools: ['a', text] }),
  'the reason': text => ({ reason: text }),
  'the last words': text => ({ stderr: ['a', text] }),
  'the peer': text => ({ peer: { address: text, token: 1 } }),
  'the subject': text => ({ subject: { issuer: text, subject: text, client: text, name: text, scopes: [] } }),
  'a finding': text => ({ findings: [{
    rule: 'call/arguments', path: text, message: text, mended: text, tool: text, prompt: text, resource: text,
  }] }),
  'a key in a path': text =>
    ({ findings: [{ rule: 'wire/ambiguous', path: pointer('result', text), message: quote(text) }] }),
  'the arguments': text => ({ arguments: Buffer.from(JSON.stringify({ a: [text] })) }),
  'a name in the arguments': text => ({ arguments: Buffer.from(JSON.stringify({ [text]: 1 })) }),
  'the result': text => ({ result: Buffer.from(JSON.stringify({ content: [{ type: 'text', text }] })) }),
}

t.test('no form of a secret is in a record, in any place', t => {
  const lines = (more: More) => (['none', 'digest', 'redacted'] as const)
    .map(payloads => nextLine(entry(more), beginning, payloads, new Date(0)).text).join('')
  for (const [place, more] of Object.entries(places)) {
    for (const [text] of texts) t.notOk(leaks(lines(more(text))), `${place}: ${text}`)
  }
  for (const [value] of values) {
    const bytes = Buffer.from(JSON.stringify({ a: value }))
    t.notOk(leaks(lines({ arguments: bytes, result: bytes })), JSON.stringify(value))
  }
  const uri = `https://bob:${'a'.repeat(230)}${s}@a.example/`
  t.notOk(leaks(lines({ tool: uri })), 'a password is not cut in two')
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

t.test('a payload too long to be searched is not kept', t => {
  const { text: line } = nextLine(
    entry({ result: Buffer.from(JSON.stringify('x'.repeat(300_000))) }), beginning, 'redacted', new Date(0),
  )
  t.match(line, '"payload":{"result":"[300002 bytes]"}')
  t.end()
})

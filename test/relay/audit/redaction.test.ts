import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import t from 'tap'
import { recordBeginning, nextLine } from '#relay/audit/record.js'
import { declaredIn, redacted, redactedPath } from '#relay/audit/redaction.js'
import { isSecretName, safeName, secretPrefixes, withoutCredentials } from '#relay/protocol/text/secrets.js'
import { quote } from '#relay/protocol/quote.js'
import { pointer, type Data } from '#relay/protocol/unmetered.js'
import { entry } from './entries.js'
import { leaks, s, secretTexts, secretValues } from './forms.js'

const lines = (more: Parameters<typeof entry>[0]) =>
  nextLine(entry(more), recordBeginning, 'redacted', new Date(0)).text

t.test('what stays of a value', t => {
  const kept: readonly Data[] = [
    1.5, true, null, '', 'Bern', 'sunny', 'Zürich', 'погода', 'नमस्ते', 'a'.repeat(32), 'tools/call', '2025-11-25',
    { city: 'Bern', temp_c: 21, ipv4_address: [], 'x-rate.limit': 3, 'io.modelcontextprotocol/clientInfo': {} },
    [{ $ref: null, sha256: 1, _id: 2, line10: 3 }],
  ]
  for (const value of kept) t.strictSame(redacted(value), value)
  t.end()
})

t.test('what becomes its length', t => {
  for (const text of [
    'two words', 'hunter2', 'a-b', '42', 'a'.repeat(33), '密码是天王盖地虎', 'a\n', ' a', 'a@b', '[text, x characters]',
    's'.repeat(100_000),
  ]) t.equal(redacted(text), `[text, ${text.length} characters]`)
  t.strictSame(redacted({ [s]: 1, [`${s}2`]: 'a b', ok: 2, 'a b': 3 }), {
    '[name 1, 20 characters]': 1, '[name 2, 21 characters]': '[text, 3 characters]', ok: 2,
    '[name 3, 3 characters]': 3,
  })
  const twice = redacted(redacted({ [s]: 'a b' }))
  t.strictSame(twice, redacted({ [s]: 'a b' }), 'redacting twice changes nothing more')
  t.end()
})

t.test('what a tool declares stays', t => {
  const schema = {
    properties: { 'unit of it': { enum: ['°C', '°F', 7] }, kind: { const: { a: 'x y' } }, b: { default: 'b c' } },
    $defs: { 'd 1': { oneOf: [{ const: 'e f' }] } },
  }
  const value = { 'unit of it': '°C', kind: 'x y', 'd 1': 'e f' }
  t.strictSame(redacted(value, declaredIn([schema, true])), value)
  t.equal(redacted('b c', declaredIn([schema])), '[text, 3 characters]')
  const bytes = Buffer.from(JSON.stringify({ unit: '°C', city: 'a b' }))
  const called = { inputSchemas: [{ properties: { unit: { enum: ['°C'] } } }], outputSchemas: [] }
  t.match(lines({ arguments: bytes, result: bytes, called }),
    '"payload":{"arguments":{"city":"[text, 3 characters]","unit":"°C"},' +
      '"result":{"city":"[text, 3 characters]","unit":"[text, 2 characters]"}}')
  t.end()
})

t.test('no form of a secret is in a redacted record', t => {
  t.ok(secretTexts.length + secretValues.length > 300, String(secretTexts.length + secretValues.length))
  for (const held of [...secretTexts, ...secretValues]) {
    const values = [held, { a: [held] }, { content: [{ type: 'text', text: held }] }]
    for (const value of values) {
      const bytes = Buffer.from(JSON.stringify(value))
      if (leaks(lines({ arguments: bytes, result: bytes }))) t.fail(JSON.stringify(held))
    }
    const path = pointer('result', JSON.stringify(held))
    const findings = [{ rule: 'result/schema', path, message: `${quote(JSON.stringify(held))} is wrong` }] as const
    if (leaks(lines({ findings }))) t.fail(`a finding: ${JSON.stringify(held)}`)
  }
  t.end()
})

t.test('a record holds no secret of a generated value, and its structure', t => {
  const shape = (value: Data): unknown => {
    if (Array.isArray(value)) return value.map(shape)
    return typeof value === 'object' && value !== null ? Object.values(value).map(one => shape(one ?? null)) : typeof value
  }
  fc.assert(fc.property(fc.jsonValue(), value => {
    const given = JSON.parse(JSON.stringify(value)) as Data
    return JSON.stringify(shape(redacted(given))) === JSON.stringify(shape(given))
  }), { numRuns: 300 })
  fc.assert(fc.property(fc.string(), fc.string(), (before, after) => {
    return !leaks(JSON.stringify(redacted([`${before}${s}${after}`])))
  }), { numRuns: 300 })
  t.end()
})

t.test('a payload too long to be redacted is not kept', t => {
  const result = Buffer.from(JSON.stringify('x'.repeat(300_000)))
  t.match(lines({ result }), '"payload":{"result":"[300002 bytes]"}')
  t.end()
})

/** Credentials that names and messages lose, and what stays of them. */
const credentials: readonly (readonly [string, string])[] = [
  ...secretPrefixes.map(prefix => [`see ${prefix}${s} there`, 'see [redacted] there'] as const),
  [`-----BEGIN RSA PRIVATE KEY-----\n${s}`, '[redacted]'],
  [`postgres://admin:pa/ss#${s}@db/app`, 'postgres://[redacted]@db/app'],
  [`redis://:12/${s}@db`, 'redis://[redacted]@db'],
  [`a https://${s}@a.example/x b`, 'a https://[redacted]@a.example/x b'],
  [`https://a.example/?access_token=${s}&page=2`, 'https://a.example/?access_token=[redacted]&page=2'],
  [`https://a.example/?key=${s}#top`, 'https://a.example/?key=[redacted]'],
  [`DB_PASS=${s} run`, 'DB_PASS=[redacted] run'],
  [`password: two words ${s}\nuser`, 'password: [redacted]\nuser'],
  [`{"apiKey": "a ${s}", "n": 1}`, '{"apiKey": [redacted], "n": 1}'],
  [`tool --api-key ${s} --all`, 'tool --api-key [redacted] --all'],
  [`tool --token='a ${s}' --all`, 'tool --token=[redacted] --all'],
  [`bearer ${s} x`, 'bearer [redacted] x'],
  [`Authorization: Basic ${s}=`, 'Authorization: [redacted]'],
]

const innocent = [
  'get_weather', 'tools/call', 'file:///a/b c.txt', 'https://a.example:8080/@scope/package?page=2#x', 'mail bob@a.example',
  'must have the property "token" (required)', 'the server lists no tool "add" that may be called', '12:30 AAAA', 'sk-1',
  'risk-assessment-of-everything', 'author=1', 'monkey: 1', 'https://medium.example/@bob/post', 'the bearer of news', '',
]

t.test('names, URIs and messages lose credentials of a short list', t => {
  for (const [text, kept] of credentials) t.equal(withoutCredentials(text), kept)
  for (const text of innocent) t.equal(withoutCredentials(text), text)
  const uri = `https://bob:${'a'.repeat(230)}${s}@a.example/`
  t.equal(safeName(uri), 'https://[redacted]@a.example/', 'a password is not cut in two')
  t.equal(safeName('a'.repeat(10_000)), `${'a'.repeat(256)}…`)
  t.equal(safeName('\ud800'), '\ufffd')
  t.end()
})

t.test('names of secrets are known in usual spellings', t => {
  for (const name of [
    'password', 'userPassword', 'PASSWD', 'db.pwd', 'x-auth-token', 'API-Key', 'client_secret', 'AWS_SECRET_ACCESS_KEY',
    'Set-Cookie', 'auth', 'DB_PASS', 'smtp.pass', 'sig', 'JSESSIONID', 'X-Amz-Signature', 'encryption_key', 'psk', '--token',
  ]) t.ok(isSecretName(name), name)
  for (const name of ['author', 'compass', 'monkey', 'city', 'design', 'passport', 'pinned', 'Stadt', '']) {
    t.notOk(isSecretName(name), name)
  }
  t.end()
})

t.test('the examples of the documentation', t => {
  const declared = declaredIn([{ enum: ['°C', '°F'] }])
  const docs = readFileSync('docs/audit.md', 'utf8')
  const values = [...docs.matchAll(/^\| `(\{.*?\})`.*? \| (?:`(\{.*\})`|the same) \|$/gm)]
  t.equal(values.length, 8)
  for (const [, given = '', kept = given] of values) {
    t.equal(JSON.stringify(redacted(JSON.parse(given) as Data, declared)), kept)
  }
  const names = [...docs.matchAll(/^\| (?:the resource|a finding at) `(.*?)` \| `(.*)` \|$/gm)]
  t.equal(names.length, 2)
  for (const [, given = '', kept] of names) t.equal(given[0] === '/' ? redactedPath(given) : safeName(given), kept)
  t.end()
})

/** The places of a record that hold a name or a message. */
const places: Readonly<Record<string, (text: string) => Parameters<typeof entry>[0]>> = {
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
}

t.test('no credential is in a record, in any place', t => {
  for (const [place, more] of Object.entries(places)) {
    for (const [text] of credentials) {
      for (const payloads of ['none', 'digest', 'redacted'] as const) {
        if (leaks(nextLine(entry(more(text)), recordBeginning, payloads, new Date(0)).text)) t.fail(`${place}: ${text}`)
      }
    }
  }
  t.end()
})

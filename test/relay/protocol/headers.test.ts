import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import {
  compareHeaders, decodeHeaderValue, encodeHeaderValue, isMediaType, paramHeaders, readMediaType,
  requestHeaders,
} from '#relay/protocol/headers.js'
import type { Data, DataObject } from '#relay/protocol/unmetered.js'
import type { Request } from '#relay/protocol/json-rpc.js'
import { text } from './json-text.js'

const version = '2026-07-28'

const request = (method: string, params: DataObject): Request => ({
  kind: 'request',
  id: 1,
  key: '1',
  method,
  params: { ...params, _meta: { 'io.modelcontextprotocol/protocolVersion': version } },
})

const call = (args: DataObject): Request => request('tools/call', { name: 'query', arguments: args })

const schema = {
  type: 'object',
  properties: {
    region: { type: 'string', 'x-mcp-header': 'Region' },
    limit: { type: 'integer', 'x-mcp-header': 'Limit' },
    deep: { type: 'object', properties: { flag: { type: 'boolean', 'x-mcp-header': 'X-Flag' } } },
    query: { type: 'string' },
  },
}

t.test('header values are encoded as the specification shows', async t => {
  const cases = [
    ['us-west1', 'us-west1'],
    ['Hello, 世界', '=?base64?SGVsbG8sIOS4lueVjA==?='],
    [' padded ', '=?base64?IHBhZGRlZCA=?='],
    ['line1\nline2', '=?base64?bGluZTEKbGluZTI=?='],
    ['=?base64?literal?=', '=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?='],
    ['two words\tand a tab', 'two words\tand a tab'],
    ['=?base64?', '=?base64?'],
    ['\t', '=?base64?CQ==?='],
    ['\u007f', '=?base64?fw==?='],
    ['', ''],
  ] as const
  for (const [value, encoded] of cases) {
    t.equal(encodeHeaderValue(value), encoded)
    t.equal(decodeHeaderValue(encoded), value)
  }
})

t.test('malformed header values are no values', async t => {
  for (const value of [
    'é', 'a\u0000', 'a\r\nb', '=?base64?=', '=?base64?A?=', '=?base64?QQ?=', '=?base64?QR==?=',
    '=?base64?Q Q=?=', '=?base64?_w==?=',
    '=?base64?/w==?=', '=?base64?7aCA?=',
  ]) {
    t.equal(decodeHeaderValue(value), undefined, value)
  }
  t.equal(decodeHeaderValue('=?BASE64?QQ==?='), '=?BASE64?QQ==?=', 'the marks are case-sensitive')
  t.equal(decodeHeaderValue('=?base64??='), '', 'nothing at all')
})

t.test('header values come back as they were, in visible ASCII', async () => {
  fc.assert(
    fc.property(fc.oneof(text, fc.string(), text.map(one => `=?base64?${one}?=`)), value => {
      const encoded = encodeHeaderValue(value)
      assert.match(encoded, /^(?:[!-~](?:[\t -~]*[!-~])?)?$/)
      assert.equal(decodeHeaderValue(encoded), value)
    }),
  )
})

t.test('parameters with a header are found, and broken annotations are reported', async t => {
  t.same(paramHeaders(schema), {
    headers: [
      { header: 'mcp-param-region', path: ['region'], type: 'string' },
      { header: 'mcp-param-limit', path: ['limit'], type: 'integer' },
      { header: 'mcp-param-x-flag', path: ['deep', 'flag'], type: 'boolean' },
    ],
    problems: [],
  })
  const good = { type: 'string', 'x-mcp-header': 'A' }
  const at = (property: Data): DataObject => ({ type: 'object', properties: { a: property } })
  const cases: readonly (readonly [string, Data, readonly string[]])[] = [
    ['a good one', at(good), []],
    ['empty', at({ ...good, 'x-mcp-header': '' }), ['/properties/a/x-mcp-header']],
    ['not a string', at({ ...good, 'x-mcp-header': 7 }), ['/properties/a/x-mcp-header']],
    ['a space', at({ ...good, 'x-mcp-header': 'a b' }), ['/properties/a/x-mcp-header']],
    ['a colon', at({ ...good, 'x-mcp-header': 'a:' }), ['/properties/a/x-mcp-header']],
    ['a line end', at({ ...good, 'x-mcp-header': 'a\r\n' }), ['/properties/a/x-mcp-header']],
    ['no ASCII', at({ ...good, 'x-mcp-header': 'é' }), ['/properties/a/x-mcp-header']],
    ['every token character', at({ ...good, 'x-mcp-header': '!#$%&\'*+-.^_`|~09azAZ' }), []],
    ['a number', at({ ...good, type: 'number' }), ['/properties/a/x-mcp-header']],
    ['an object', at({ ...good, type: 'object' }), ['/properties/a/x-mcp-header']],
    ['no type', at({ 'x-mcp-header': 'A' }), ['/properties/a/x-mcp-header']],
    ['several types', at({ ...good, type: ['string', 'null'] }), ['/properties/a/x-mcp-header']],
    ['at the root', { type: 'string', 'x-mcp-header': 'A' }, ['/x-mcp-header']],
    [
      'twice in another case', { properties: { a: good, b: { ...good, 'x-mcp-header': 'a' } } },
      ['/properties/b/x-mcp-header'],
    ],
    ['in items', at({ type: 'array', items: good }), ['/properties/a/items/x-mcp-header']],
    ['in a tuple', at({ prefixItems: [good] }), ['/properties/a/prefixItems/0/x-mcp-header']],
    ['in anyOf', { anyOf: [at(good)] }, ['/anyOf/0/properties/a/x-mcp-header']],
    ['in a condition', { if: at(good) }, ['/if/properties/a/x-mcp-header']],
    ['in a definition', { $defs: { x: good } }, ['/$defs/x/x-mcp-header']],
    ['in a pattern', { patternProperties: { '^a/': good } }, ['/patternProperties/^a~1/x-mcp-header']],
    ['in additional properties', { additionalProperties: good }, ['/additionalProperties/x-mcp-header']],
    ['a property of that name', { properties: { 'x-mcp-header': { type: 'number' } } }, []],
    ['in data', at({ type: 'object', default: good, examples: [good], enum: [good], const: good }), []],
    ['a schema that is none', true, []],
    ['inherited names', { properties: { constructor: good, __proto__: null } }, []],
  ]
  for (const [what, inputSchema, paths] of cases) {
    t.same(paramHeaders(inputSchema).problems.map(({ path }) => path), paths, what)
  }
})

t.test('a request is repeated in its headers', async t => {
  const cases = [
    [request('ping', {}), {}],
    [request('resources/read', { uri: 'file:///é' }), { 'mcp-name': '=?base64?ZmlsZTovLy/DqQ==?=' }],
    [request('prompts/get', { name: 'p' }), { 'mcp-name': 'p' }],
    [request('tasks/get', { taskId: 't1' }), { 'mcp-name': 't1' }],
    [request('prompts/list', { name: 'p' }), {}],
    [call({ region: 'us', query: 'x' }), { 'mcp-name': 'query', 'mcp-param-region': 'us' }],
    [
      call({ region: null, limit: 42.0, deep: { flag: false } }),
      { 'mcp-name': 'query', 'mcp-param-limit': '42', 'mcp-param-x-flag': 'false' },
    ],
    [call({ limit: 2 ** 53, region: { a: 1 }, deep: 7 }), { 'mcp-name': 'query' }],
  ] as const
  for (const [message, expected] of cases) {
    const headers = requestHeaders(message, schema)
    t.same(
      Object.fromEntries(headers),
      { 'mcp-method': message.method, 'mcp-protocol-version': version, ...expected },
    )
    t.equal(compareHeaders(headers, message, schema), undefined, 'and agrees with them')
  }
})

t.test('headers that differ from the body are reported', async t => {
  const message = call({ region: 'us', limit: 42, deep: { flag: true } })
  const said = (changes: Readonly<Record<string, string | undefined>>, of = message) => {
    const headers = requestHeaders(of, schema)
    for (const [name, value] of Object.entries(changes)) {
      if (value === undefined) headers.delete(name)
      else headers.set(name, value)
    }
    return compareHeaders(headers, of, schema)
  }
  const cases = [
    [{ 'mcp-protocol-version': undefined }, /required MCP-Protocol-Version header is missing/],
    [{ 'mcp-protocol-version': '2025-11-25' }, /"2025-11-25" does not match body value "2026-07-28"/],
    [{ 'mcp-method': undefined }, /required Mcp-Method header is missing/],
    [
      { 'mcp-method': 'tools/list' },
      /Mcp-Method header value "tools\/list" does not match body value "tools\/call"/,
    ],
    [{ 'mcp-method': 'Tools/Call' }, /does not match/],
    [{ 'mcp-method': encodeHeaderValue('tools/call\n') }, /does not match/],
    [{ 'mcp-name': undefined }, /required Mcp-Name/],
    [{ 'mcp-name': 'other' }, /Mcp-Name header value "other" does not match body value "query"/],
    [{ 'mcp-name': 'quéry' }, /Mcp-Name header value "quéry" is malformed/],
    [{ 'mcp-name': '=?base64?cXVlcnk=?=' }, undefined],
    [{ 'mcp-param-region': undefined }, /required mcp-param-region/i],
    [{ 'mcp-param-region': 'US' }, /"US" does not match body value "us"/],
    [{ 'mcp-param-limit': '42.0' }, undefined],
    [{ 'mcp-param-limit': '43' }, /does not match/],
    [{ 'mcp-param-limit': '' }, /does not match/],
    [{ 'mcp-param-limit': '0x2a' }, /does not match/],
    [{ 'mcp-param-limit': `42.${'0'.repeat(20)}1` }, /does not match/],
    [{ 'mcp-param-x-flag': 'True' }, /does not match/],
    [{ 'mcp-param-unknown': 'anything' }, undefined],
  ] as const
  for (const [changes, expected] of cases) {
    t.match(said(changes) ?? '', expected ?? /^$/, JSON.stringify(changes))
  }
  t.match(said({ 'mcp-param-region': 'us' }, call({ region: null })), /has no counterpart in the body/)
  t.match(
    said({ 'mcp-param-limit': '9007199254740993' }, call({ limit: 9007199254740992 })), /has no counterpart/,
  )
  t.equal(
    compareHeaders(requestHeaders(call({})), call({ region: 'us' })), undefined,
    'without a schema parameters are not looked at',
  )
  t.equal(
    said({ 'mcp-name': undefined }, request('tasks/get', { taskId: 'a' })), undefined,
    'an extension\u2019s header may be left out',
  )
  t.match(said({ 'mcp-name': 'b' }, request('tasks/get', { taskId: 'a' })), /does not match/)
  t.match(said({ 'mcp-name': `\u202e${'x'.repeat(500)}` }), /^.{0,220}$/)
})

const mediaTypes: readonly (readonly [
  text: string, type: string, charsets: readonly string[], isUtf8: boolean, isWellFormed: boolean,
])[] = [
  ['application/json', 'application/json', [], true, true],
  ['Application/JSON ; Charset="UTF-8"', 'application/json', ['utf-8'], true, true],
  ['application/json; charset=utf-8', 'application/json', ['utf-8'], true, true],
  ['text/plain; charset=utf-8; charset=utf-16', 'text/plain', ['utf-8', 'utf-16'], false, true],
  ['text/plain; charset = us-ascii', 'text/plain', ['us-ascii'], true, false],
  ['text/plain; charset=', 'text/plain', [''], false, false],
  ['text/plain; charset="utf-8', 'text/plain', ['"utf-8'], false, false],
  ['text/plain; charset*=utf-8\'\'utf-8', 'text/plain', ['charset*=utf-8\'\'utf-8'], false, true],
  ['text/plain; a=";charset=utf-16"', 'text/plain', ['utf-16"'], false, true],
  ['text/html;', 'text/html', [], true, true],
  ['', '', [], true, false],
  ['json', 'json', [], true, false],
  ['application/json, text/plain', 'application/json, text/plain', [], true, false],
  [`text/${'a'.repeat(300)}`, `text/${'a'.repeat(300)}`, [], true, false],
]

t.test('a media type is read alike in headers and in blocks of content', t => {
  for (const [text, type, charsets, isUtf8, isWellFormed] of mediaTypes) {
    const read = readMediaType(text)
    t.strictSame([read.type, read.charsets, read.isUtf8], [type, charsets, isUtf8], text)
    t.equal(isMediaType(text), isWellFormed, text)
  }
  t.end()
})

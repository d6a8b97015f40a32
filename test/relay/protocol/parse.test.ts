import t from 'tap'
import type { Fault, Frame } from '#relay/protocol/frame.js'
import { oversizedFrame, parseFrame } from '#relay/protocol/parse.js'

const limits = { messageBytes: 200_000, depth: 20 }
const read = (text: string | Buffer): Frame => parseFrame(Buffer.from(text), limits)
const kinds = ({ faults }: Frame): readonly Fault['kind'][] => faults.map(({ kind }) => kind)
const result = (inner: string): string => `{"jsonrpc":"2.0","id":1,"result":{"structuredContent":${inner}}}`
const nested = (depth: number, open = '[', close = ']'): string => open.repeat(depth) + close.repeat(depth)

t.test('each JSON-RPC message is read with its kind and the key of its id', async t => {
  const cases = [
    [
      '{"jsonrpc":"2.0","id":1,"method":"ping"}',
      { kind: 'request', id: 1, key: '1', method: 'ping', params: undefined },
    ],
    [
      '{"jsonrpc":"2.0","id":"1","method":"x","params":{"a":1}}',
      { kind: 'request', id: '1', key: '"1"', params: { a: 1 } },
    ],
    [
      '{"jsonrpc":"2.0","method":"notifications/initialized"}',
      { kind: 'notification', method: 'notifications/initialized' },
    ],
    ['{"jsonrpc":"2.0","id":0,"result":{}}', { kind: 'result', id: 0, key: '0', result: {} }],
    ['{"result":{"a":"}"},"jsonrpc":"2.0","id":7}', { kind: 'result', key: '7' }],
    [
      '{"jsonrpc":"2.0","id":"","error":{"code":-1,"message":"m","data":null}}',
      { kind: 'error', key: '""', error: { code: -1, message: 'm', data: null } },
    ],
    ['{"jsonrpc":"2.0","id":1,"method":"m","extra":[{"id":2}]}', { kind: 'request', key: '1' }],
    [' \t{ "jsonrpc" : "2.0" , "id" : -0 , "result" : { } }\r', { kind: 'result', key: '-0' }],
  ] as const
  for (const [text, message] of cases) {
    const frame = read(text)
    t.match(frame.message, message, text)
    t.same(frame.faults, [], text)
    t.equal(frame.bytes.toString(), text)
  }
})

t.test('the key of a number is its spelling, wherever the id stands', async t => {
  for (const spelling of [
    '1', '1.0', '1e0', '10E-1', '-5', '12345678901234567890', '9007199254740993', '-0', '1e22',
  ]) {
    const body = `"result":{"id":99,"s":"\\",\\"id\\":98}","x":[{"id":97}]}`
    for (const text of [
      `{"jsonrpc":"2.0","id":${spelling},${body}}`,
      `{"id" : ${spelling} , "jsonrpc":"2.0",${body}}`,
      `{${body},"jsonrpc":"2.0","id": ${spelling} }`,
      `{${body},"id":${spelling},"jsonrpc":"2.0"}\r`,
      `{${body},"id":${spelling},"extra":{"id":96},"jsonrpc":"2.0"}`,
      `{"jsonrpc":"2.0","extra":{"id":96},"\\u0069d":${spelling},${body}}`,
      `{"jsonrpc":"2.0","pad":"${'x'.repeat(500)}","id":${spelling},"also":"${'x'.repeat(500)}",${body}}`,
      `{"jsonrpc":"2.0",${body},"id":${spelling},"x\\",\\"id":6}`,
    ]) {
      const frame = read(text)
      t.match(frame, { faults: [], message: { kind: 'result', key: spelling } }, text.slice(0, 120))
    }
  }
  t.match(read('{"jsonrpc":"2.0","id":"\\u0061\\/","result":{}}').message, { key: '"a/"' })
})

t.test('frames that are not JSON in UTF-8', async t => {
  const good = '{"jsonrpc":"2.0","id":1,"result":{}}'
  const cases: readonly (readonly [string, string | Buffer, RegExp])[] = [
    [
      'invalid UTF-8', Buffer.from([...Buffer.from('{"jsonrpc":"2.0","id":1,"method":"'), 0xff, 0x22, 0x7d]),
      /UTF-8/,
    ],
    ['half a character', Buffer.from('{"jsonrpc":"2.0","id":1,"method":"é"}').subarray(0, -3), /UTF-8/],
    ['a surrogate in UTF-8', Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]), /UTF-8/],
    ['a byte order mark', `\ufeff${good}`, /byte order mark/],
    ['a NUL in a string', good.replace('{}', '{"a":"\0"}'), /NUL/],
    ['a NUL behind', `${good}\0`, /NUL/],
    ['noise', 'Server started on port 3000', /^not JSON$/],
    ['noise before', `WARN ${good}`, /before/],
    ['noise behind', `${good} done`, /after/],
    ['two messages', good + good, /after/],
    ['cut off', good.slice(0, -1), /cut off/],
    ['cut off in a string', '{"jsonrpc":"2.0","id":1,"method":"pi', /cut off/],
    ['a trailing comma', '{"jsonrpc":"2.0","id":1,}', /not JSON/],
    ['a raw line end in a string', '{"a":"x\ny"}', /not JSON/],
    ['NaN', result('NaN'), /not JSON/],
    ['nothing', '', /not JSON/],
    ['a bracket of the wrong kind', '{"a":[1}', /not JSON/],
  ]
  for (const [what, text, message] of cases) {
    const frame = read(text)
    t.same(kinds(frame), ['json'], what)
    t.match(frame, { message: { kind: 'unusable' }, faults: [{ path: '', message }] }, what)
  }
})

t.test('frames that are JSON but no JSON-RPC message', async t => {
  const cases = [
    ['a number', '7'],
    ['a string', '"id"'],
    ['null', 'null'],
    ['no version', '{"id":1,"method":"m"}'],
    ['another version', '{"jsonrpc":"1.0","id":1,"method":"m"}'],
    ['the version as a number', '{"jsonrpc":2.0,"id":1,"method":"m"}'],
    ['id null', '{"jsonrpc":"2.0","id":null,"method":"m"}'],
    ['id null in an answer', '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"m"}}'],
    ['id a boolean', '{"jsonrpc":"2.0","id":true,"method":"m"}'],
    ['id an object', '{"jsonrpc":"2.0","id":{},"method":"m"}'],
    ['id an array', '{"jsonrpc":"2.0","id":[1],"method":"m"}'],
    ['id a fraction', '{"jsonrpc":"2.0","id":1.5,"method":"m"}'],
    ['method no string', '{"jsonrpc":"2.0","id":1,"method":7}'],
    ['method null', '{"jsonrpc":"2.0","id":1,"method":null}'],
    ['result and error', '{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"m"}}'],
    ['result and error null', '{"jsonrpc":"2.0","id":1,"result":{},"error":null}'],
    ['neither', '{"jsonrpc":"2.0","id":1}'],
    ['method and result', '{"jsonrpc":"2.0","id":1,"method":"m","result":{}}'],
    ['method and error', '{"jsonrpc":"2.0","id":1,"method":"m","error":{"code":1,"message":"m"}}'],
    ['params an array', '{"jsonrpc":"2.0","id":1,"method":"m","params":[]}'],
    ['params null', '{"jsonrpc":"2.0","id":1,"method":"m","params":null}'],
    ['result null', '{"jsonrpc":"2.0","id":1,"result":null}'],
    ['result an array', '{"jsonrpc":"2.0","id":1,"result":[]}'],
    ['result a string', '{"jsonrpc":"2.0","id":1,"result":"ok"}'],
    ['error a string', '{"jsonrpc":"2.0","id":1,"error":"bad"}'],
    ['error without a code', '{"jsonrpc":"2.0","id":1,"error":{"message":"m"}}'],
    ['error with a fraction for a code', '{"jsonrpc":"2.0","id":1,"error":{"code":1.5,"message":"m"}}'],
    ['error with text for a code', '{"jsonrpc":"2.0","id":1,"error":{"code":"1","message":"m"}}'],
    ['error without a message', '{"jsonrpc":"2.0","id":1,"error":{"code":1}}'],
    ['an answer without an id', '{"jsonrpc":"2.0","result":{}}'],
    ['an inherited method', '{"jsonrpc":"2.0","id":1,"__proto__":{"method":"m"}}'],
    ['an empty batch', '[]'],
  ] as const
  for (const [what, text] of cases) {
    t.match(read(text), { message: { kind: 'unusable' }, faults: [{ kind: 'json-rpc', path: '' }] }, what)
  }
})

t.test('texts that two parsers could read differently, and similar texts that they could not', async t => {
  const high = '\\ud83d'
  const low = '\\ude00'
  const cases = [
    ['a key twice', result('{"a":1,"b":2,"a":1}'), ['/result/structuredContent/a']],
    [
      'a key twice, deep in an array', result('[0,{"x":[{"a":1},{"a":1,"a":2}]}]'),
      ['/result/structuredContent/1/x/1/a'],
    ],
    ['a key twice, once escaped', result('{"a":1,"\\u0061":2}'), ['/result/structuredContent/a']],
    [
      'a key three times', result('{"a":1,"a":2,"a":3}'),
      ['/result/structuredContent/a', '/result/structuredContent/a'],
    ],
    ['a key twice with nothing but numbers', '{"jsonrpc":"2.0","id":1,"id":1,"result":{}}', ['/id']],
    [
      'a fault inside of what another key hides', result('{"a":{"b":1e400},"a":1}'),
      ['/result/structuredContent/a/b', '/result/structuredContent/a'],
    ],
    ['__proto__ twice', result('{"__proto__":1,"__proto__":1}'), ['/result/structuredContent/__proto__']],
    ['the same key in different objects', result('[{"a":1},{"a":{"a":1}}]'), []],
    ['a key that is also a value', result('{"a":"a","b":["a","a"]}'), []],
    ['keys that differ', result('{"a":1,"A":2,"a ":3,"":4,"á":5,"a\u0301":6}'), []],
    [
      'quotation marks in strings',
      result('{"a":"\\"a\\":1","b\\"":"\\\\","c":"\\\\\\"","d":"{\\"a\\":1,\\"a\\":2}"}'), [],
    ],
    ['half a pair', result(`"${high}"`), ['/result/structuredContent']],
    ['the other half', result(`["x","${low}"]`), ['/result/structuredContent/1']],
    ['halves in the wrong order', result(`{"a":"${low}${high}"}`), ['/result/structuredContent/a']],
    ['half a pair in a key', result(`{"${high}x":1}`), ['/result/structuredContent/x']],
    ['half a pair behind a whole one', result(`"${high}${low}${high}"`), ['/result/structuredContent']],
    ['half a pair before other escapes', result(`"${high}\\n"`), ['/result/structuredContent']],
    ['a whole pair in escapes', result(`"${high}${low}"`), []],
    ['a whole pair in capitals', result('"\\uD83D\\uDE00"'), []],
    ['an emoji in UTF-8', result('"😀👩‍👩‍👧"'), []],
    ['an escaped backslash before ud83d', result('"\\\\ud83d"'), []],
    ['other escapes', result('"\\u00e9\\ud7ff\\ue000\\n"'), []],
    ['1e400', result('1e400'), ['/result/structuredContent']],
    ['-1E+999', result('{"a":[-1E+999]}'), ['/result/structuredContent/a/0']],
    ['400 digits', result('9'.repeat(400)), ['/result/structuredContent']],
    ['an id beyond a double', '{"jsonrpc":"2.0","id":1e999,"method":"m"}', ['/id', '']],
    ['1e308', result('[1e308,-1.7976931348623157e308]'), []],
    ['a big integer', result('123456789012345678901234567890'), []],
    ['a long fraction', result('0.1234567890123456789012345678901234567890'), []],
    ['next to nothing', result('1e-400'), []],
    ['1e400 in a string', result('"1e400"'), []],
  ] as const
  for (const [what, text, paths] of cases) t.same(read(text).faults.map(({ path }) => path), paths, what)
})

t.test('keys that differ from a protocol key only in case, at protocol positions alone', async t => {
  const inResult = (members: string) => `{"jsonrpc":"2.0","id":1,"result":{${members}}}`
  const inParams = (members: string) => `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{${members}}}`
  const cases = [
    ['Result beside result', '{"jsonrpc":"2.0","id":1,"result":{},"Result":{}}', ['/Result']],
    ['METHOD', '{"jsonrpc":"2.0","id":1,"method":"ping","METHOD":"tools/call"}', ['/METHOD']],
    ['ID in a notification', '{"jsonrpc":"2.0","method":"m","ID":5}', ['/ID']],
    ['Name', inParams('"name":"a","Name":"b"'), ['/params/Name']],
    ['ARGUMENTS', inParams('"ARGUMENTS":{}'), ['/params/ARGUMENTS']],
    ['a long s', inParams('"argument\u017f":{}'), ['/params/argument\u017f']],
    ['an i without its dot', inParams('"ur\u0131":"a"'), ['/params/ur\u0131']],
    ['a capital I with a dot', inParams('"ur\u0130":"a"'), ['/params/ur\u0130']],
    ['a Kelvin sign', inParams('"ta\u017f\u212a":{}'), ['/params/ta\u017f\u212a']],
    ['structuredcontent', inResult('"structuredcontent":{}'), ['/result/structuredcontent']],
    ['IsError', inResult('"content":[],"IsError":false'), ['/result/IsError']],
    [
      'a tool', inResult('"tools":[{"name":"a"},{"Name":"b","inputschema":{}}]'),
      ['/result/tools/1/Name', '/result/tools/1/inputschema'],
    ],
    ['a block', inResult('"content":[{"type":"text","Text":"x"}]'), ['/result/content/0/Text']],
    ['an error', '{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m","Data":1}}', ['/error/Data']],
    ['arguments', inParams('"name":"a","arguments":{"ID":1,"Name":2,"name":3}'), []],
    ['structured content', inResult('"structuredContent":{"ID":1,"Id":2,"isERROR":true}'), []],
    [
      'a schema', inResult('"tools":[{"name":"a","inputSchema":{"Type":"object","properties":{"Name":{}}}}]'),
      [],
    ],
    ['_meta', inResult('"_meta":{"Tools":1},"content":[{"type":"text","text":"x","_meta":{"TYPE":1}}]'), []],
    ['annotations', inResult('"tools":[{"name":"a","annotations":{"Title":"x"}}]'), []],
    ['an unknown position', inResult('"vendor":{"Name":1}'), []],
    ['other keys', inResult('"Vendor":1,"contentX":2,"structured_content":3'), []],
    ['a protocol key of another position', inResult('"Arguments":1'), []],
    ['the answers to a form', inResult('"action":"accept","content":{"Name":"Ada","TYPE":1,"type":"x"}'), []],
    [
      'the answers to a form, in a request',
      inParams('"name":"a","inputResponses":{"one":{"action":"accept","content":{"Title":"x"}}}'), [],
    ],
    [
      'such an answer itself', inParams('"name":"a","inputResponses":{"one":{"Action":"accept"}}'),
      ['/params/inputResponses/one/Action'],
    ],
    [
      'a block that is no array', inResult('"role":"assistant","content":{"type":"text","Text":"x"}'),
      ['/result/content/Text'],
    ],
    ['a member "action" in a prompt', inResult(
      '"messages":[{"role":"user","action":0,"content":{"type":"text","text":"fine","Text":"evil"}}]',
    ), ['/result/messages/0/content/Text']],
    [
      'a real action in a prompt',
      inResult('"messages":[{"role":"user","action":"accept","content":{"type":"text","Text":"evil"}}]'),
      ['/result/messages/0/content/Text'],
    ],
    [
      'a type in other case, in a request for sampling',
      inParams('"messages":[{"role":"user","content":{"Type":"resource"}}]'),
      ['/params/messages/0/content/Type'],
    ],
    [
      'a type in other case, in the answer to sampling',
      inResult('"role":"assistant","content":{"Type":"text"}'), ['/result/content/Type'],
    ],
    [
      'an action that is none', inResult('"action":"x","content":{"type":"text","Text":"x"}'),
      ['/result/content/Text'],
    ],
    [
      'an action in the answer to sampling',
      inResult('"action":"accept","role":"assistant","content":{"type":"text","Text":"x"}'),
      ['/result/content/Text'],
    ],
    [
      'an action in the result of a tool',
      inResult('"action":"accept","content":[{"type":"text","Text":"x"}]'), ['/result/content/0/Text'],
    ],
    [
      'an action in the result of a tool whose content is no array',
      inResult('"action":"accept","isError":false,"content":{"type":"text","Text":"x"}'),
      ['/result/content/Text'],
    ],
    [
      'params of a method that nobody knows',
      '{"jsonrpc":"2.0","id":1,"method":"x/y","params":{"Name":1,"_Meta":{}}}', ['/params/_Meta'],
    ],
    ['a character that becomes two', inParams('"me\u00dfage":"a"'), ['/params/me\u00dfage']],
    ['letters beyond ASCII', inParams('"n\u00e4me":"a","\u540d":"b"'), []],
  ] as const
  for (const [what, text, paths] of cases) {
    const frame = read(text)
    t.same(frame.faults.map(({ path }) => path), paths, what)
    t.ok(frame.faults.every(({ kind }) => kind === 'ambiguous'), what)
  }
})

t.test('an ambiguous message keeps its kind, and tells the ids that another parser may read', async t => {
  const cases = [
    ['{"jsonrpc":"2.0","id":1,"id":2,"result":{}}', 'result', '2', ['1']],
    ['{"jsonrpc":"2.0","id":1,"\\u0069d":"1","result":{}}', 'result', '"1"', ['1']],
    ['{"jsonrpc":"2.0","id":1,"ID":3,"method":"m"}', 'request', '1', ['3']],
    ['{"jsonrpc":"2.0","id":1,"id":1,"result":{}}', 'result', '1', undefined],
    ['{"jsonrpc":"2.0","id":4,"result":{"a":1,"a":2}}', 'result', '4', undefined],
    ['{"jsonrpc":"2.0","ID":9,"method":"m"}', 'notification', undefined, ['9']],
  ] as const
  for (const [text, kind, key, otherKeys] of cases) {
    const { message, otherKeys: found } = read(text)
    t.equal(message.kind, kind, text)
    t.equal('key' in message ? message.key : undefined, key, text)
    t.same(found, otherKeys, text)
  }
})

t.test('the ids of an unusable message can be read, likeliest first', async t => {
  const cases = [
    ['{"jsonrpc":"2.0","id":5,"result":null}', ['5']],
    ['{"jsonrpc":"2.0","id":"a\\u0062","result":null}', ['"ab"']],
    ['{"jsonrpc":"2.0","id":5,"id":"x","result":null}', ['"x"', '5']],
    ['{"jsonrpc":"2.0","Id":5,"result":{}}', ['5']],
    ['{"jsonrpc":"2.0","id":1.5,"method":"m"}', ['1.5']],
    ['{"jsonrpc":"2.0","id":5,"result":{"id":6,"text":"cut o', ['5']],
    ['{"result":{"id":6},"jsonrpc":"2.0","id":5', []],
    ['{"result":{"id":6},"jsonrpc":"2.0","id":"5', []],
    ['WARN something {"jsonrpc":"2.0","id":5,"result":{}}', ['5']],
    ['{"jsonrpc":"2.0","id":5,"result":{}} done', ['5']],
    ['\ufeff{"jsonrpc":"2.0","id":5,"result":{}}', ['5']],
    ['{"jsonrpc":"2.0",,"id":5,"result":{]}', ['5']],
    ['{"jsonrpc":"2.0","id":null,"result":{}}', []],
    ['{"jsonrpc":"2.0","id":true,"result":{}}', []],
    ['{"jsonrpc":"2.0","method":"m","params":[{"id":5}]}', []],
    ['[{"jsonrpc":"2.0","id":5,"result":{}},{"jsonrpc":"2.0","id":6,"resu', ['6', '5']],
    ['Server started', []],
  ] as const
  for (const [text, keys] of cases) t.same(read(text).message, { kind: 'unusable', keys }, text)
})

t.test('a frame over the limit is not read, but its id is', async t => {
  const filler = 'x'.repeat(limits.messageBytes)
  const cases = [
    ['first', `{"jsonrpc":"2.0","id":5,"result":{"id":6,"a":"${filler}"}}`, ['5']],
    ['first of all', `{"id":"five","result":{"id":6,"a":"${filler}"}}`, ['"five"']],
    ['last', `{"result":{"id":6,"a":"${filler}"},"jsonrpc":"2.0","id":5}`, ['5']],
    ['last but the version', `{"result":{"a":"${filler}"},"id":"a\\"b","jsonrpc":"2.0"} \r`, ['"a\\"b"']],
    ['twice', `{"id":5,"result":{"a":"${filler}"},"id":6}`, ['5', '6']],
    ['inside', `{"result":{"a":"${filler}","id":5}}`, []],
    ['nowhere', `{"result":{"a":"${filler}"}}`, []],
  ] as const
  for (const [what, text, keys] of cases) {
    const bytes = Buffer.from(text)
    const faults = [{ kind: 'size' }]
    t.match(parseFrame(bytes, limits), { message: { kind: 'unusable', keys }, faults }, what)
    const cut = oversizedFrame(bytes.subarray(0, 4096), bytes.subarray(-4096), bytes.length, limits)
    t.match(cut, { message: { kind: 'unusable', keys }, faults, bytes: bytes.subarray(0, 4096) }, what)
    t.match(cut.faults[0]?.message, String(bytes.length))
  }
  const exact = `{"jsonrpc":"2.0","id":5,"result":{"a":"${filler}`.slice(0, limits.messageBytes - 3) + '"}}'
  t.same(read(exact).faults, [], 'a frame of exactly the limit')
})

t.test('nesting is measured, whatever the depth, and never by the stack', async t => {
  const deep = { messageBytes: 5_000_000, depth: 20 }
  const cases: readonly (readonly [string, string, readonly string[]])[] = [
    ['just within', result(nested(18)), []],
    ['one too deep', result(nested(19)), ['size']],
    ['objects', result(nested(19, '{"a":', '}').replace(':}', ':1}')), ['size']],
    ['in what another key hides', result(`{"a":${nested(30)},"a":1}`), ['size']],
    ['a bomb', nested(1_000_000), ['size']],
    ['a batch', nested(21), ['size']],
    ['a batch of short messages', `[${nested(5)}${`,${nested(5)}`.repeat(50)}]`, []],
    ['a bomb in a message', result(nested(300_000)), ['size']],
    ['a bomb that never ends', '['.repeat(2_000_000), ['size']],
    ['brackets in strings', result(`"${'[{'.repeat(200_000)}"`), []],
    ['many brackets side by side', result(`[${'[],'.repeat(200_000)}[]]`), []],
  ]
  for (const [what, text, expected] of cases) {
    t.same(kinds(parseFrame(Buffer.from(text), deep)), expected, what)
  }
  const lenient = { messageBytes: 5_000_000, depth: 50_000 }
  t.same(
    kinds(parseFrame(Buffer.from(result(nested(40_000))), lenient)), [],
    'a limit beyond what the stack could hold',
  )
  t.same(kinds(parseFrame(Buffer.from(result(nested(60_000))), lenient)), ['size'])
})

t.test('a batch is made of frames of its own', async t => {
  const text =
    ' [ {"jsonrpc":"2.0","id":1,"method":"ping"} ,\n{"jsonrpc":"2.0","id":1.0,"result":null}, 7, [{"jsonrpc":"2.0","id":3,"method":"m"}],{"jsonrpc":"2.0","method":"n","x":1,"x":2} ] '
  const frame = read(text)
  t.match(frame, { faults: [], message: { kind: 'batch' } })
  const members = frame.message.kind === 'batch' ? frame.message.members : []
  t.same(
    members.map(({ message }) => message.kind),
    ['request', 'unusable', 'unusable', 'unusable', 'notification'],
  )
  t.same(members.map(kinds), [[], ['json-rpc'], ['json-rpc'], ['json-rpc'], ['ambiguous']])
  t.equal(members[0]?.bytes.toString(), '{"jsonrpc":"2.0","id":1,"method":"ping"}')
  t.match(members[1]?.message, { keys: ['1.0'] })
  t.match(members[3]?.message, { keys: ['3'] })
  t.match(read(`[${'1,'.repeat(10_001)}1]`), { message: { kind: 'unusable' }, faults: [{ kind: 'size' }] })
})

t.test('faults are few, whatever is wrong, and quote the wire with care', async t => {
  const many = read(result(`{${Array.from({ length: 500 }, () => '"a":1').join()}}`))
  t.equal(many.faults.length, 20)
  const blocks = Array.from({ length: 500 }, () => '{"Type":"text"}').join()
  t.equal(read(`{"jsonrpc":"2.0","id":1,"result":{"content":[${blocks}]}}`).faults.length, 20)
  const key = `\u202e\u200b\u001b[31m${'k'.repeat(300)}`
  const [hostile] = read(result(`{${JSON.stringify(key)}:1,${JSON.stringify(key)}:2}`)).faults
  t.match(hostile?.path, /^\/result\/structuredContent\/"\[31mk{20}…"$/)
})

t.test('the depth is measured whatever else is wrong', async t => {
  const twice = '"a":1,'.repeat(30)
  for (const [what, text] of [
    ['keys', `{${twice}"a":${nested(30)}}`], ['numbers', `[${'1e999,'.repeat(40)}${nested(30)}]`],
    ['halves of pairs', `["${'","\\ud800'.repeat(40)}",${nested(30)}]`],
  ] as const) {
    const frame = read(result(text))
    t.equal(frame.message.kind, 'unusable', what)
    t.match(frame.faults.at(-1), { kind: 'size', message: /deeper/ }, what)
  }
  t.equal(read(result(`{${twice}"b":1}`)).faults.length, 20)
})

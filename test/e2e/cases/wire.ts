import type { RuleName } from '#relay/rules/index.js'
import {
  answer, call, honest, legacy, modern, on, request, session, type Act, type Case, type Expected, type Given,
} from '../cases.js'

const fine = '{"content":[{"type":"text","text":"Fine."}]}'
const okay = answer('7', fine)
const refused: Expected = { error: -31000, id: '7' }

const bytes = (...parts: readonly (string | readonly number[])[]): Act => ({
  bytes: Buffer.concat(
    parts.map(part => Buffer.from(typeof part === 'string' ? part : Uint8Array.from(part))),
  ).toString('base64'),
})

/** The server's answer to a call is `said`, as it is. */
const answered = (
  rule: RuleName, name: string, verdict: Case['verdict'], said: readonly Act[],
  gets: readonly Expected[] = [refused], given: Given & { revision?: Case['revision'] } = {},
): Case => {
  const { revision = legacy, ...rest } = given
  return session({
    ...rest,
    name: `from the server: ${name}`,
    rule,
    revision,
    verdict,
    event: verdict === 'pass' ? 'tools/call' : 'wire',
    tools: [honest],
    reactions: [on('tools/call', ...said)],
    steps: [{ send: call(revision, '7', 'honest'), gets }],
  })
}

/** A frame that may be the answer goes; the answer that follows stays. */
const strayed = (rule: RuleName, name: string, said: Act): Case => answered(rule, name, 'block', [said, okay], [okay])

/** The client sends `said`, as it is; what passes is answered. */
const sent = (
  rule: RuleName, name: string, verdict: Case['verdict'], said: string, gets: readonly Expected[],
  given: Given & { revision?: Case['revision']; forwarded?: readonly string[] } = {},
): Case => {
  const { revision = legacy, forwarded, ...rest } = given
  return session({
    ...rest,
    name: `from the client: ${name}`,
    rule,
    revision,
    verdict,
    event: verdict === 'block' ? 'wire' : said.includes('tools/call') ? 'tools/call' : 'x/other',
    tools: [honest],
    reactions: [on('tools/call', answer('$ID', fine)), on('x/other', answer('$ID', '{}'))],
    steps: [{ send: said, gets }],
    forwarded: forwarded ?? (verdict === 'block' ? [] : [said]),
  })
}

const withText = (escaped: string) => answer('7', `{"content":[{"type":"text","text":"${escaped}"}]}`)
const nest = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)
const small = { config: { version: 1, limits: { messageBytes: 2000 } } }
const duplicates: readonly [string, string][] = [
  ['in the message', `{"jsonrpc":"2.0","id":7,"id":7,"result":${fine}}`],
  ['in the result', answer('7', '{"content":[],"isError":false,"content":[]}')],
  ['in structured content', answer('7', '{"content":[],"structuredContent":{"a":{"b":1,"b":2}}}')],
  [
    'once spelled with an escape',
    answer('7', String.raw`{"content":[],"structuredContent":{"a":1,"\u0061":2}}`),
  ],
  ['in _meta', answer('7', '{"content":[],"_meta":{"a":1,"a":1}}')],
]
const variants: readonly [string, string][] = [
  ['Result beside result', `{"jsonrpc":"2.0","id":7,"result":${fine},"Result":{"content":[]}}`],
  ['Error beside result', `{"jsonrpc":"2.0","id":7,"result":${fine},"Error":{"code":1,"message":"a"}}`],
  ['IsError in a result', answer('7', '{"content":[],"IsError":true}')],
  ['structuredcontent in a result', answer('7', '{"content":[],"structuredcontent":{"a":1}}')],
  ['Text in a block', answer('7', '{"content":[{"type":"text","text":"a","Text":"b"}]}')],
]

export const wireCases: readonly Case[] = [
  // wire/json
  answered(
    'wire/json', 'noise before an answer goes, the answer stays', 'block',
    ['Debugger listening on ws://127.0.0.1:9229', okay], [okay],
  ),
  answered('wire/json', 'an empty line is no noise', 'pass', ['', okay], [okay]),
  strayed('wire/json', 'half an answer goes', '{"jsonrpc":"2.0","id":7,"result":{"content":['),
  strayed('wire/json', 'an answer with a byte order mark goes', bytes([0xef, 0xbb, 0xbf], okay, '\n')),
  strayed('wire/json', 'an answer with a NUL goes', bytes(okay, [0], '\n')),
  strayed(
    'wire/json', 'an answer with bytes that are no UTF-8 goes',
    bytes('{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"', [0xff, 0xfe], '"}]}}\n'),
  ),
  strayed(
    'wire/json', 'an answer in overlong UTF-8 goes',
    bytes('{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"', [0xc0, 0xaf], '"}]}}\n'),
  ),
  strayed(
    'wire/json', 'an answer with a comma too many goes', '{"jsonrpc":"2.0","id":7,"result":{"content":[],}}',
  ),
  answered(
    'wire/json', 'NaN makes an answer unusable', 'block',
    ['{"jsonrpc":"2.0","id":7,"result":{"content":[],"structuredContent":{"a":NaN}}}'],
  ),
  answered('wire/json', 'a character cut in two by the pipe is whole again', 'pass', [
    bytes('{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"', [0xf0, 0x9f]),
    bytes([0x98, 0x80], '"}]}}\n'),
  ], [withText('😀')]),
  answered(
    'wire/json', 'line separators inside a string are no line ends', 'pass',
    [withText('a\u2028b\u2029c\u0085d')], [withText('a\u2028b\u2029c\u0085d')],
    { also: ['content/hidden-text'] },
  ),
  sent('wire/json', 'what is no JSON goes nowhere', 'block', 'hello', []),
  sent(
    'wire/json', 'half a request is answered where its id can be read', 'block',
    '{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{', [{ error: -31000, id: '9' }],
  ),

  // wire/json-rpc
  answered(
    'wire/json-rpc', 'another version of JSON-RPC', 'block', [`{"jsonrpc":"1.0","id":7,"result":${fine}}`],
  ),
  strayed('wire/json-rpc', 'no version of JSON-RPC', `{"id":7,"result":${fine}}`),
  answered(
    'wire/json-rpc', 'a result and an error', 'block',
    [`{"jsonrpc":"2.0","id":7,"result":${fine},"error":{"code":1,"message":"a"}}`],
  ),
  strayed('wire/json-rpc', 'neither result nor error', '{"jsonrpc":"2.0","id":7}'),
  answered(
    'wire/json-rpc', 'a result that is no object', 'block', ['{"jsonrpc":"2.0","id":7,"result":"fine"}'],
  ),
  answered(
    'wire/json-rpc', 'an error without a code', 'block', ['{"jsonrpc":"2.0","id":7,"error":{"message":"a"}}'],
  ),
  answered(
    'wire/json-rpc', 'an error whose code is a text', 'block',
    ['{"jsonrpc":"2.0","id":7,"error":{"code":"E","message":"a"}}'],
  ),
  strayed('wire/json-rpc', 'an answer to an id of null goes', `{"jsonrpc":"2.0","id":null,"result":${fine}}`),
  answered('wire/json-rpc', 'a number goes, the answer stays', 'block', ['42', okay], [okay]),
  answered('wire/json-rpc', 'a batch where there are none', 'block', [`[${okay}]`]),
  answered(
    'wire/json-rpc', 'a batch in 2025-03-26 passes', 'pass', [`[${okay}]`], [`[${okay}]`],
    { revision: '2025-03-26' },
  ),
  answered(
    'wire/json-rpc', 'an error with a code of its own and data passes', 'pass',
    ['{"jsonrpc":"2.0","id":7,"error":{"code":-32000,"message":"a","data":{"b":[1.0]},"x":1}}'],
    ['{"jsonrpc":"2.0","id":7,"error":{"code":-32000,"message":"a","data":{"b":[1.0]},"x":1}}'],
  ),
  answered('wire/json-rpc', 'a notification that nobody knows passes', 'pass', [
    '{"jsonrpc":"2.0","method":"x/unheard-of","params":{"a":1.0}}', okay,
  ], ['{"jsonrpc":"2.0","method":"x/unheard-of","params":{"a":1.0}}', okay]),
  sent(
    'wire/json-rpc', 'an id of null', 'block',
    '{"jsonrpc":"2.0","id":null,"method":"tools/call","params":{"name":"honest"}}', [],
  ),
  sent(
    'wire/json-rpc', 'parameters that are a list', 'block',
    '{"jsonrpc":"2.0","id":9,"method":"x/other","params":[1]}', [{ error: -31000, id: '9' }],
  ),
  sent(
    'wire/json-rpc', 'a batch where there are none', 'block',
    '[{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"honest"}}]',
    [{ error: -31000, id: '9' }],
  ),
  sent(
    'wire/json-rpc', 'a method that nobody knows passes', 'pass',
    '{"jsonrpc":"2.0","id":"x-1","method":"x/other","params":{"b":1.0,"a":null}}', [answer('"x-1"', '{}')],
  ),

  // wire/ambiguous
  ...duplicates.map(([where, said]) => answered('wire/ambiguous', `a key twice, ${where}`, 'block', [said])),
  ...variants.map(([what, said]) => answered('wire/ambiguous', what, 'block', [said])),
  answered('wire/ambiguous', 'half a surrogate pair', 'block', [withText(String.raw`\ud83d`)]),
  answered(
    'wire/ambiguous', 'half a surrogate pair in a key', 'block',
    [answer('7', String.raw`{"content":[],"_meta":{"\udc00":1}}`)],
  ),
  answered(
    'wire/ambiguous', 'a number beyond a double', 'block',
    [answer('7', '{"content":[],"structuredContent":{"a":1e400}}')],
  ),
  answered('wire/ambiguous', 'a whole surrogate pair, big integers and spellings of numbers pass', 'pass',
    [answer(
      '7',
      String.raw`{"content":[{"type":"text","text":"\ud83d\ude00"}],"_meta":{"a":123456789012345678901234567890,"b":1.0,"c":-0,"d":1E+2}}`,
    )],
    [answer(
      '7',
      String.raw`{"content":[{"type":"text","text":"\ud83d\ude00"}],"_meta":{"a":123456789012345678901234567890,"b":1.0,"c":-0,"d":1E+2}}`,
    )]),
  answered('wire/ambiguous', 'keys inside structured content and _meta may differ in case', 'pass',
    [answer(
      '7',
      '{"content":[],"structuredContent":{"Type":"a","type":"b","Result":1},"_meta":{"IsError":true,"iserror":false}}',
    )],
    [answer(
      '7',
      '{"content":[],"structuredContent":{"Type":"a","type":"b","Result":1},"_meta":{"IsError":true,"iserror":false}}',
    )], { also: ['result/no-text'] }),
  answered(
    'wire/ambiguous', 'observed, an ambiguous answer passes', 'log',
    [answer('7', '{"content":[],"_meta":{"a":1,"a":1}}')],
    [answer('7', '{"content":[],"_meta":{"a":1,"a":1}}')], { options: ['--policy', 'observe'] },
  ),
  sent(
    'wire/ambiguous', 'a method in two cases', 'block',
    '{"jsonrpc":"2.0","id":9,"method":"ping","Method":"tools/call","params":{"name":"honest"}}',
    [{ error: -31000, id: '9' }],
  ),
  sent(
    'wire/ambiguous', 'a tool named twice', 'block',
    '{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"honest","name":"other"}}',
    [{ error: -31000, id: '9' }],
  ),
  sent(
    'wire/ambiguous', 'arguments may have keys in any case', 'pass',
    call(legacy, '7', 'honest', '{"Name":"a","name":"b","Method":1}'), [okay],
  ),

  // wire/size
  answered(
    'wire/size', 'an answer that is too long', 'block', [withText('x'.repeat(3000))], [refused], small,
  ),
  answered(
    'wire/size', 'an answer that is nested too deep', 'block',
    [answer('7', `{"content":[],"_meta":{"a":${nest(200)}}}`)],
  ),
  answered(
    'wire/size', 'observed, an answer that is too long is refused all the same', 'block',
    [withText('x'.repeat(3000))], [refused], { ...small, options: ['--policy', 'observe'] },
  ),
  answered(
    'wire/size', 'an answer within the limits passes', 'pass',
    [answer('7', `{"content":[],"_meta":{"a":${nest(100)}}}`)],
    [answer('7', `{"content":[],"_meta":{"a":${nest(100)}}}`)], small,
  ),
  sent(
    'wire/size', 'a request that is too long', 'block',
    call(legacy, '9', 'honest', `{"a":"${'x'.repeat(3000)}"}`), [{ error: -31000, id: '9' }], small,
  ),
  sent(
    'wire/size', 'a request that is nested too deep', 'block',
    call(legacy, '9', 'honest', `{"a":${nest(200)}}`), [{ error: -31000, id: '9' }],
  ),

  // wire/id
  strayed('wire/id', 'an id of another type', answer('"7"', fine)),
  strayed('wire/id', 'an id in another spelling', answer('7.0', fine)),
  strayed('wire/id', 'an id with an exponent', answer('70e-1', fine)),
  answered(
    'wire/id', 'an answer to nothing asked goes, the answer stays', 'block', [answer('8', fine), okay],
    [okay],
  ),
  answered('wire/id', 'the second answer goes', 'block', [okay, answer('7', '{"content":[]}')], [okay]),
  answered(
    'wire/id', 'an error as the second answer goes', 'block',
    [okay, '{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"late"}}'], [okay],
  ),
  sent('wire/id', 'an answer to nothing asked goes', 'block', answer('5', '{}'), []),
  sent(
    'wire/id', 'an id that is a big number comes back as it was spelled', 'pass',
    call(legacy, '9007199254740993', 'honest'), [answer('9007199254740993', fine)],
  ),
  sent(
    'wire/id', 'an id that is an empty text comes back', 'pass', call(legacy, '""', 'honest'),
    [answer('""', fine)],
  ),

  // Threats: what other gateways changed or dropped on the way.
  session({
    name: 'cursors and pages stay as they are',
    rule: 'tool/duplicate',
    revision: modern,
    verdict: 'pass',
    event: 'tools/list',
    reactions: [
      on('cursor', answer(
        '3',
        `{"resultType":"complete","tools":[{"name":"last","inputSchema":{"type":"object"}}],"ttlMs":3600000,"cacheScope":"public"}`,
      )),
      on('tools/list', answer(
        '2',
        `{"resultType":"complete","tools":[${honest}],"nextCursor":"p\\u00e4ge=2","ttlMs":3600000,"cacheScope":"public"}`,
      )),
      on('tools/call', answer('$ID', `{"resultType":"complete",${fine.slice(1)}`)),
    ],
    steps: [
      {
        send: request(modern, '2', 'tools/list'),
        gets: [answer(
          '2',
          `{"resultType":"complete","tools":[${honest}],"nextCursor":"p\\u00e4ge=2","ttlMs":3600000,"cacheScope":"public"}`,
        )],
      },
      {
        send: request(modern, '3', 'tools/list', '"cursor":"p\\u00e4ge=2"'),
        gets: [answer(
          '3',
          `{"resultType":"complete","tools":[{"name":"last","inputSchema":{"type":"object"}}],"ttlMs":3600000,"cacheScope":"public"}`,
        )],
      },
      { send: call(modern, '4', 'last'), gets: [answer('4', `{"resultType":"complete",${fine.slice(1)}`)] },
    ],
  }),
  session({
    name: 'a name that was on the page before goes',
    rule: 'tool/duplicate',
    revision: legacy,
    verdict: 'block',
    event: 'tools/list',
    reactions: [
      on('cursor', answer('3', `{"tools":[{"name":"last","inputSchema":{"type":"object"}},${honest}]}`)),
      on('tools/list', answer('2', `{"tools":[${honest}],"nextCursor":"2"}`)),
    ],
    steps: [
      {
        send: request(legacy, '2', 'tools/list'),
        gets: [answer('2', `{"tools":[${honest}],"nextCursor":"2"}`)],
      },
      {
        send: request(legacy, '3', 'tools/list', '"cursor":"2"'),
        gets: [answer('3', '{"tools":[{"name":"last","inputSchema":{"type":"object"}}]}')],
      },
    ],
  }),
  session({
    name: 'what differs from the list before passes, and is recorded',
    rule: 'tool/drift',
    revision: legacy,
    verdict: 'log',
    event: 'tools/list',
    reactions: [
      { when: '"tools/list"', once: true, say: [answer('2', `{"tools":[${honest}]}`)] },
      on('tools/list', answer('3', `{"tools":[${honest.replace('Says', 'Steals')}]}`)),
    ],
    steps: [
      { send: request(legacy, '2', 'tools/list'), gets: [answer('2', `{"tools":[${honest}]}`)] },
      {
        send: request(legacy, '3', 'tools/list'),
        gets: [answer('3', `{"tools":[${honest.replace('Says', 'Steals')}]}`)],
      },
    ],
  }),
  session({
    name: 'the same list twice is no drift',
    rule: 'tool/drift',
    revision: legacy,
    verdict: 'pass',
    event: 'tools/list',
    tools: [honest],
    reactions: [on('tools/list', answer('$ID', `{"tools":[${honest}]}`))],
    steps: [{ send: request(legacy, '3', 'tools/list'), gets: [answer('3', `{"tools":[${honest}]}`)] }],
  }),
]

import t from 'tap'
import fc from 'fast-check'
import type { RuleName } from '#relay/rules/index.js'
import type { Data, DataObject } from '#relay/protocol/unmetered.js'
import type { Revision } from '#relay/protocol/revisions/index.js'
import { isBase64 } from '#relay/rules/content.js'
import { all, answer, paths, reading, ruleNamed, text, type Case } from './ask.js'

const judge = (name: RuleName, block: Data, revision: Revision = '2025-11-25') =>
  paths(ruleNamed(name).onResult?.(answer({ content: [block] }, { revision })))

const table = (name: RuleName, cases: readonly Case<Data>[]) => {
  t.test(`${name}: what is found in a block, and what is not`, t => {
    for (const [title, block, found] of cases) {
      t.same(judge(name, block), found.map(path => `/result/content/0${path}`), title)
    }
    t.end()
  })
}

t.test('content/type: a block type that the revision does not know', t => {
  t.same(judge('content/type', { type: 'audio' }, '2024-11-05'), ['/result/content/0/type'])
  t.same(judge('content/type', { type: 'audio' }, '2025-03-26'), [])
  t.same(judge('content/type', { type: 'resource_link' }, '2025-03-26'), ['/result/content/0/type'])
  t.same(judge('content/type', { type: 'resource_link' }, '2025-06-18'), [])
  t.same(judge('content/type', { type: 'tool_use' }), ['/result/content/0/type'])
  t.same(judge('content/type', { type: 'constructor' }), ['/result/content/0/type'])
  t.same(judge('content/type', { type: 1 }), [], 'a type that is no string is result/shape')
  t.end()
})

const image = (data: Data, mimeType: Data = 'image/x-own') => ({ type: 'image', data, mimeType })
const blob = (
  blob: Data, mimeType: Data = 'application/x-own',
) => ({ type: 'resource', resource: { uri: 'a:b', blob, mimeType } })

table('content/base64', [
  ['nothing', image(''), []],
  ['one, two, three bytes', image('QQ=='), []],
  ['with bits that no byte needs', image('QR=='), []],
  ['in a blob', blob('QUJD'), []],
  ['a text resource', { type: 'resource', resource: { uri: 'a:b', text: '!' } }, []],
  ['a text block with data', { type: 'text', text: 'a', data: '!' }, []],
  ['data that is no string, which is result/shape', image(1), []],
  ['without padding', image('QQ'), ['/data']],
  ['too much padding', image('Q==='), ['/data']],
  ['padding inside', image('QQ==QQ=='), ['/data']],
  ['the alphabet for URLs', image('-_-_'), ['/data']],
  ['line ends', image('QUJD\nQUJD\nQQ=\n'), ['/data']],
  ['a data URI', image('data:image/png;base64,QUJD'), ['/data']],
  ['audio', { type: 'audio', data: '!!!!', mimeType: 'audio/wav' }, ['/data']],
  ['a blob', blob('????'), ['/resource/blob']],
])

t.test('isBase64 agrees with a regular expression at any length', t => {
  const plain = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/
  const odd = fc.tuple(
    fc.base64String({ maxLength: 40 }), fc.nat(40), fc.constantFrom('', '=', '-', '\n', 'é', '\u0141', 'A'),
  )
  fc.assert(fc.property(odd, ([base, place, insert]) => {
    const text = base.slice(0, place) + insert + base.slice(place + insert.length)
    return isBase64(text) === plain.test(text) && isBase64(Buffer.from(text)) === plain.test(text)
  }), { numRuns: 2000 })
  for (const length of [16380, 16384, 16388, 32768, 49156]) {
    const long = 'QUJD'.repeat(length / 4)
    t.equal(isBase64(long), true, String(length))
    for (const place of [0, 16380, 16383, 16384, length - 5].filter(place => place < length - 1)) {
      t.equal(
        isBase64(`${long.slice(0, place)}=${long.slice(place + 1)}`), false, `${length}, padding at ${place}`,
      )
      t.equal(
        isBase64(`${long.slice(0, place)}é${long.slice(place + 1)}`), false,
        `${length}, a letter at ${place}`,
      )
    }
    t.equal(isBase64(`${long.slice(0, -2)}==`), true, `${length}, padded`)
  }
  t.end()
})

const of = (...bytes: readonly (string | number)[]) =>
  Buffer.concat(
    bytes.map(part => (typeof part === 'string' ? Buffer.from(part, 'latin1') : Buffer.from([part]))),
  ).toString('base64')
const png = of('\x89PNG\r\n\x1a\n', 0, 0)
const jpeg = of('\xff\xd8\xff\xe0')
const zip = of('PK\x03\x04')

table('content/mime', [
  ['a PNG', image(png, 'image/png'), []],
  ['a PNG, written in capitals and with a parameter', image(png, 'Image/PNG; a="b;c"'), []],
  ['a JPEG', image(jpeg, 'image/jpeg'), []],
  ['a GIF', image(of('GIF89a'), 'image/gif'), []],
  ['a WebP', image(of('RIFF', 1, 2, 3, 4, 'WEBPVP8 '), 'image/webp'), []],
  ['a WAV', image(of('RIFF', 1, 2, 3, 4, 'WAVEfmt '), 'audio/wav'), []],
  ['an SVG, which has no signature', image(of('<svg/>'), 'image/svg+xml'), []],
  ['no data', image('', 'image/png'), []],
  [
    'a document that is an archive',
    blob(zip, 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'), [],
  ],
  ['bytes of any kind', blob(png, 'application/octet-stream'), []],
  ['a type of its own, with data of no kind', blob(of('BM and more'), 'text/plain'), []],
  [
    'a profile',
    { type: 'resource', resource: { uri: 'ui://a', text: '<p>', mimeType: 'text/html;profile=mcp-app' } }, [],
  ],
  ['a link', { type: 'resource_link', uri: 'a:b', mimeType: 'text/plain; charset=utf-8' }, []],
  ['no media type', { type: 'resource_link', uri: 'a:b' }, []],
  ['a PNG called a JPEG', image(png, 'image/jpeg'), ['/mimeType']],
  ['a JPEG called a PNG', image(jpeg, 'image/png'), ['/mimeType']],
  ['a text called a PNG', image(of('hello'), 'image/png'), ['/mimeType']],
  ['a PDF called a text', blob(of('%PDF-1.7'), 'text/plain'), ['/resource/mimeType']],
  ['an archive called a picture', blob(zip, 'image/png'), ['/resource/mimeType']],
  ['a song called a picture', image(of('ID3\x03'), 'image/gif'), ['/mimeType']],
  ['FLAC called WAV', { type: 'audio', data: of('fLaC'), mimeType: 'audio/wav' }, ['/mimeType']],
  ['a picture called SVG', image(png, 'image/svg+xml'), ['/mimeType']],
  ['no slash', image(png, 'png'), ['/mimeType']],
  ['nothing', image(png, ''), ['/mimeType']],
  ['a space inside', image(png, 'image /png'), ['/mimeType']],
  ['a line end', image(png, 'image/png\r\nX: y'), ['/mimeType']],
  ['a parameter without a value', image(png, 'image/png; a'), ['/mimeType']],
  ['semicolons without end', image(png, `image/png${'; '.repeat(100)}\0`), ['/mimeType']],
  ['no end', image(png, `image/${'x'.repeat(300)}`), ['/mimeType']],
])

const link = (uri: Data) => ({ type: 'resource_link', name: 'n', uri })
const fineUris = [
  'file:///project/src/main.rs', 'https://example.com/a?b=../c#../d', 'demo://resource/static/1',
  'memory://a..b/.../c',
  'ui://app/index.html', 'git://repo/compare/a..b', 'ssh://git@example.com/x.git', 'mailto:a@example.com',
  'urn:isbn:0',
  'data:image/png;base64,AA==', 'data:text/plain,x', 'https://example.com/@user:name/x', 'C:\\a\\b',
  'relative/path', '', '%2e', 'notes://My Notes/1', 'user://a b', 'https://example.com/a:b@c/', '//host/a@b',
]
const badUris = [
  'javascript:alert(1)', 'JavaScript:alert(1)', ' javascript:alert(1)', 'java\nscript:alert(1)',
  '\u0001vbscript:x',
  'data:text/html,<p>', 'DATA:image/svg+xml;base64,AA==', 'data:application/xhtml+xml,x',
  'data:text/javascript,x',
  'https://user:secret@example.com/', 'https://ghp_token@example.com/', 'postgres://u:p@host/db',
  'https:\\\\u:p@host/',
  'file:///a/../etc/passwd', 'file:///a/..', '../x', 'a:../x', 'file:///a/%2e%2e/x', 'file:///a/.%2E/x',
  'file:///a%2f..%2fx',
  'file:///a/%252e%252e/x', 'file:///a\\..\\x', 'file:///a%5c..%5cx', 'demo://../x',
  'https:user:pass@h/', 'https:/user:pass@h/', 'https:\\user:pass@h/', 'https:/\\user:pass@h',
  'HTTPS:\t/user@h/', '//user:pass@h/', '\\\\user:pass@h/', 'data: text/html,x', 'data:\ttext/html,x',
  `https://${'a'.repeat(9000)}:b@h/`, `https://h/${'a/'.repeat(9000)}../x`,
  `data:${' '.repeat(9000)}text/html,x`, ' ../x', 'postgres://u:p@my host/db', 'https://u:p@ho st/',
  'https://u:p@h:99999/',
]
table('content/uri', [
  ...fineUris.map(uri => [`fine: ${uri}`, link(uri), []] as const),
  ...badUris.map(uri => [`found: ${uri}`, link(uri), ['/uri']] as const),
  ['no string, which is result/shape', link(1), []],
  ['in a resource', { type: 'resource', resource: { uri: 'javascript:1', text: '' } }, ['/resource/uri']],
  ['an icon', { ...link('a:b'), icons: [{ src: 'https://x/' }, { src: 'javascript:1' }] }, ['/icons/1/src']],
  ['a text block', { type: 'text', text: '', uri: 'javascript:1' }, []],
])

t.test('a message never repeats credentials', t => {
  const [finding] =
    ruleNamed('content/uri').onResult?.(answer({ content: [link('https://user:hunter2@x/')] })) ?? []
  t.match(finding, { message: 'bears credentials' })
  t.end()
})

const annotated = (annotations: DataObject) => ({ ...link('a:b'), annotations })
table('content/annotations', [
  ['the bounds', annotated({ priority: 0, audience: ['user', 'assistant'] }), []],
  ['one', annotated({ priority: 1, audience: [] }), []],
  ...[
    '2025-01-12T15:00:58Z', '2025-01-12T15:00:58.123456+02:00', '2025-01-12', '2025-01', '2025',
    '20250112T150058Z', '2025-01-12T15:00', '2024-02-29', '2025-01-12 15:00:58Z', '2025-01-12T24:00:00Z',
    '2025-01-12T15:00:58+14:00', '2025-01-12T15:00:58-09:30', '20250112T150058-0930', '20250112',
  ]
    .map(lastModified => [`a time: ${lastModified}`, annotated({ lastModified }), []] as const),
  [
    'types that are wrong, which is result/shape',
    annotated({ priority: '2', audience: 'x', lastModified: 1 }), [],
  ],
  ['too much', annotated({ priority: 1.5 }), ['/annotations/priority']],
  ['too little', annotated({ priority: -0.1 }), ['/annotations/priority']],
  ['another reader', annotated({ audience: ['user', 'admin'] }), ['/annotations/audience']],
  ...[
    'yesterday', '12.01.2025', '2025-02-30', '2025-13-01', '2025-01-12T25:00:00Z', '1736694058', '',
    'Sun, 12 Jan 2025 15:00:58 GMT', '2025-01-12T15:00:58Z\n', '2025-01-12T24:59:59Z', '2025-01-12T24:00:01Z',
    '2025-0112', '202501-12', '202501', '2025-01-12T15:00:58+19:59', '2025-01-12T15:00:58+14:30',
    '2025-01-12T15:00:58-13:00', '2025-01-12T150058Z', '20250112T15:00:58Z', '2025-01-12T15:00:58+0200',
    '2025-01T15:00Z',
  ]
    .map(lastModified => [
      `no time: ${lastModified}`, annotated({ lastModified }), ['/annotations/lastModified'],
    ] as const),
  [
    'in a resource', { type: 'resource', resource: { uri: 'a:b', text: '', annotations: { priority: 2 } } },
    ['/resource/annotations/priority'],
  ],
])

t.test('content/hidden-text: hidden characters anywhere in a result', t => {
  const found = (result: DataObject) => paths(ruleNamed('content/hidden-text').onResult?.(answer(result)))
  t.same(found({ content: [text('plain 👩🏽‍⚕️')], structuredContent: { a: ['b'] } }), [])
  t.same(found({ content: [text('a'), text('b\u202e')] }), ['/result/content/1/text'])
  t.same(
    found({ content: [], structuredContent: { a: [{ 'b\u200bc': '\u2060' }] } }),
    ['/result/structuredContent/a/0', '/result/structuredContent/a/0/bc'],
  )
  t.same(
    found({ content: [], structuredContent: { uri: 'a:b', blob: '\u202e'.repeat(5000) } }),
    ['/result/structuredContent/blob'],
  )
  t.same(found({ content: [image('QUJD'.repeat(10_000))] }), [])
  t.end()
})

t.test('prompts, resources and other texts for models are judged as well', t => {
  const resource = { uri: 'javascript:1', blob: '!', mimeType: '!', annotations: { priority: 2 } }
  const bad = { type: 'resource', resource }
  const found = (method: string, result: DataObject) =>
    all.onReading(reading(method, result)).map(({ rule, path }) => `${rule} ${path}`)
  const rulesOf = (path: string) => [
    `content/base64 ${path}/blob`, `content/mime ${path}/mimeType`, `content/uri ${path}/uri`,
    `content/annotations ${path}/annotations/priority`,
  ]
  t.same(found(
    'prompts/get', { messages: [{ role: 'user', content: text('fine') }, { role: 'user', content: bad }] },
  ), rulesOf('/result/messages/1/content/resource'))
  t.same(
    found('prompts/get', { messages: [{ content: [text('fine'), bad] }] }),
    rulesOf('/result/messages/0/content/1/resource'),
  )
  t.same(found(
    'prompts/get', { messages: [{ content: { type: 'odd', text: '\u202e' } }, 1, { content: 1 }] },
  ), [
    'content/type /result/messages/0/content/type', 'content/hidden-text /result/messages/0/content/text',
  ])
  t.same(found('resources/read', { contents: [1, resource] }), rulesOf('/result/contents/1'))
  t.same(
    found('resources/read', { contents: [{ uri: 'a:b', text: '\u202e' }] }),
    ['content/hidden-text /result/contents/0/text'],
  )
  t.same(found('initialize', { instructions: 'a\u{e0041}' }), ['content/hidden-text /result/instructions'])
  t.same(
    found('server/discover', { serverInfo: { title: 'a\u202e' } }),
    ['content/hidden-text /result/serverInfo/title'],
  )
  t.same(found('initialize', { instructions: 'plain', content: [bad] }), [])
  t.end()
})

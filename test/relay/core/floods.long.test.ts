import t from 'tap'
import { accepting } from './locked.js'
import { findingsOf, modern, result, Script, type Setting, weather } from './script.js'

/** Messages that are made of very many cheap parts. */
const many = (element: string, count: number): string => `[${`${element},`.repeat(count - 1)}${element}]`

const everythingDrifts = accepting({}, () => ({ classes: 'added', isMinor: false }))

const floods: readonly (readonly [
  title: string, setting: Setting, method: string, isModern: boolean, part: string,
])[] = [
  [
    'requests in an array', {}, 'tools/call', true,
    `"result":{"resultType":"input_required","inputRequests":${many('0', 5_000_000)}}`,
  ],
  [
    'embedded requests', {}, 'tools/call', true,
    `"result":{"resultType":"input_required","inputRequests":${many('{}', 300_000)}}`,
  ],
  [
    'elicitations in an error', {}, 'prompts/list', false,
    `"error":{"code":-32042,"message":"m","data":{"elicitations":${many('{}', 300_000)}}}`,
  ],
  [
    'prompts that were not accepted', { accepted: everythingDrifts }, 'prompts/list', false,
    `"result":{"prompts":${many('0', 1_000_000)}}`,
  ],
  ['tasks', {}, 'tasks/list', false, `"result":{"tasks":${many('{}', 500_000)}}`],
  ['icons', {}, 'prompts/list', false, `"result":{"prompts":[{"name":"a","icons":${many('{}', 500_000)}}]}`],
  ['blocks', {}, 'tools/call', false, `"result":{"content":${many('{}', 500_000)}}`],
]

t.test('judging a message of very many parts yields to the event loop, and ends in wire/size when its budget is spent', t => {
  for (const [title, setting, method, isModern, part] of floods) {
    const script = new Script(setting)
    if (!isModern) script.begin()
    script.client({
      jsonrpc: '2.0', id: 5, method,
      params: isModern ? { name: 'weather', ...modern() } : { name: 'weather' },
    })
    if (isModern) {
      const own = script.ownId
      if (own !== 'none') script.server(result(own, { tools: [weather] }))
    }
    script.turns = 0
    script.entries.length = 0
    const [[to, sent] = []] = script.server(`{"jsonrpc":"2.0","id":5,${part}}`)
    t.match([to, sent], ['to client', { id: 5 }], title)
    t.match(script.entries.at(-1), { verdict: 'block' }, title)
    t.ok(
      findingsOf(script).some(found => found.startsWith('wire/size')), title,
      { found: findingsOf(script).slice(0, 3) },
    )
    t.ok(script.turns > 3, `${title}: in ${script.turns} turns`)
  }
  t.end()
})

t.test('very many nulls in a list are mended or reported, and do not end the session', t => {
  const script = new Script().begin()
  const element =
    '{"name":"a","uri":"a:b","title":null,"description":null,"mimeType":null,"size":null,"annotations":null}'
  script.client({ jsonrpc: '2.0', id: 5, method: 'resources/list' })
  t.match(script.server(`{"jsonrpc":"2.0","id":5,"result":{"resources":${many(element, 26_000)}}}`), [
    ['to client', { id: 5, result: { resources: { length: 26_000 } } }],
  ])
  t.notMatch(script.raw.at(-1)?.bytes.slice(0, 10_000), 'null')
  t.end()
})

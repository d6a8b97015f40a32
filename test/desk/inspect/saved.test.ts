import fc from 'fast-check'
import t from 'tap'
import { defaultLimits } from '#relay/config/configuration.js'
import { resolvePolicy } from '#relay/config/policy.js'
import { CustomsError } from '#relay/base/errors.js'
import { inspect } from '#desk/inspect/inspect.js'
import { type Inspection, isFine, jsonReport } from '#desk/inspect/inspection.js'
import { parseSaved, SavedServer } from '#desk/inspect/saved.js'
import { createSchemaChecker } from '#relay/schema/index.js'
import { error, initialized, result, tool } from './quirks.js'
import { rulesOf, run } from './run.js'

const checker = createSchemaChecker(defaultLimits)

const judged = (text: string): Promise<Inspection> => {
  const saved = parseSaved(text, 'saved.json', defaultLimits)
  return inspect({
    name: 'saved.json', isNamed: false, target: 'saved.json', version: '0.0.0', trusted: false,
    tools: new Map(), call: undefined, saved,
    timeoutMs: 20_000, probeMs: 20_000, checker, limits: defaultLimits,
    policy: resolvePolicy([{}], { purpose: 'inspect', locked: false }),
    audit: () => undefined, openServer: () => new SavedServer(saved, defaultLimits),
    progress: () => undefined, opened: () => undefined,
  })
}

const message = (result: object, id: unknown = 7): string => JSON.stringify({ jsonrpc: '2.0', id, result })
const tools = [tool('one'), tool('two', { title: 'x\u202e' })]
const discovered = { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } }

t.test('a saved list is judged as the server would have been', async t => {
  const cases: [string, string, string][] = [
    ['the result by itself', JSON.stringify({ tools }, undefined, 2), '2025-11-25'],
    ['a message', message({ tools }, 'any'), '2025-11-25'],
    [
      'a page a line',
      `${message({ tools: [tools[0]], nextCursor: '2' })}\r\n\n${message({ tools: [tools[1]] })}\n`,
      '2025-11-25',
    ],
    [
      'with what came before',
      `${message({ ...initialized, protocolVersion: '2025-03-26' })}\n${message({ tools })}`, '2025-03-26',
    ],
    [
      'of a modern server',
      `${message(discovered)}\n${message({ resultType: 'complete', tools, ttlMs: 0, cacheScope: 'private' })}`,
      '2026-07-28',
    ],
    [
      'with an error of the other era',
      `${JSON.stringify({ jsonrpc: '2.0', id: 1, error: { code: -32601, message: 'No' } })}\n${message(initialized)}\n${message({ tools })}`,
      '2025-11-25',
    ],
  ]
  for (const [name, text, revision] of cases) {
    const inspection = await judged(text)
    t.strictSame(inspection.tools.map(({ name }) => name), ['one', 'two'], name)
    t.match(
      inspection.findings.filter(({ action }) => action === 'block'),
      [{ rule: 'tool/hidden-text', tool: 'two' }], name,
    )
    t.equal(inspection.connected.revision, revision, name)
    t.notOk(isFine(inspection), name)
  }
})

t.test('a report of an inspection is a saved list', async t => {
  const { inspection } = await run({
    initialize: () => result({ ...initialized, capabilities: { tools: {}, prompts: {} } }),
    'tools/list': () => result({ tools: [...tools, 7, { ...tool('odd'), extra: 1e300 }] }),
    'prompts/list': () => result({ prompts: [{ name: 'greet' }] }),
  })
  const again = await judged(jsonReport(inspection))
  t.strictSame(
    again.lists.tools.items.map(({ value }) => value), inspection.lists.tools.items.map(({ value }) => value),
  )
  t.strictSame(again.lists.prompts.items.map(({ value }) => value), [{ name: 'greet' }])
  t.strictSame(rulesOf(again), rulesOf(inspection))
  t.match(again.connected.serverInfo, { name: 'quirky' })
  const cut = await run({ 'tools/list': ({ cursor }) =>
    (cursor === undefined ? result({ tools, nextCursor: 'more' }) : error(-32603, 'no more')) })
  t.match(
    (await judged(jsonReport(cut.inspection))).lists.tools.problem, /ends before the last page/,
    'what was cut is still cut',
  )
})

t.test('ambiguous JSON is judged byte for byte', async t => {
  const inspection = await judged(`{"tools":[${JSON.stringify(tool('one'))}],"x":1,"x":2}`)
  t.strictSame(rulesOf(inspection), ['wire/ambiguous', 'advice/no-output-schema'])
})

t.test('an incomplete list is reported, and fails the inspection', async t => {
  const inspection = await judged(message({ tools: [tool('one')], nextCursor: '2' }))
  t.match(inspection.lists.tools.problem, /the file ends before the last page/)
  t.notOk(isFine(inspection))
})

t.test('a file without a list is reported with its place', t => {
  const cases: [string, string, RegExp][] = [
    ['empty', '', /^f: there is no list in it|^f:?\d*: no JSON/],
    ['no JSON', '# Title', /^f:1: no JSON: /],
    ['a line that is none', `${message({ tools: [] })}\nnoise`, /^f:2: no JSON: /],
    ['a number', '7', /^f: neither a response, nor a list, nor a report$/],
    ['something else', '{"name":"x"}', /^f: no answer that holds a list$/],
    ['only a greeting', message(initialized), /^f: there is no list in it$/],
    [
      'too many pages', `${message({ tools: [] })}\n${message({ tools: [] })}`,
      /^f:2: another answer to tools\/list, after the last one$/,
    ],
    ['a message without an id', '{"jsonrpc":"2.0","result":{"tools":[]}}', /^f: /],
    ['lists by the name of a prototype', '{"toString":[]}', /^f: no answer that holds a list$/],
  ]
  for (const [name, text, error] of cases) {
    t.throws(() => parseSaved(text, 'f', defaultLimits), { code: 'BAD_CONFIG', message: error }, name)
  }
  t.end()
})

t.test('no text exhausts the reader', t => {
  const line = fc.oneof(
    fc.json(), fc.string(),
    fc.jsonValue().map(value => JSON.stringify({ jsonrpc: '2.0', id: 1, result: value })),
    fc.jsonValue().map(value => JSON.stringify({ tools: value })),
  )
  fc.assert(fc.property(fc.array(line), lines => {
    try {
      return parseSaved(lines.join('\n'), 'f', defaultLimits).responses.size > 0
    } catch (error) {
      return error instanceof CustomsError
    }
  }))
  t.end()
})

import { PassThrough } from 'node:stream'
import { stripVTControlCharacters } from 'node:util'
import t from 'tap'
import { jsonReport } from '#desk/inspect/inspection.js'
import { report } from '#desk/inspect/report.js'
import { sarifReport } from '#desk/inspect/sarif.js'
import {
  colourStyle, columnsOf, plainStyle, spinner, styleFor, widthOf,
} from '#desk/terminal/style.js'
import { error, initialized, result, tool, type Quirk } from './quirks.js'
import { evil, harmful, run } from './run.js'

const hostile: Quirk = {
  initialize: () => result({
    protocolVersion: '2025-11-25',
    capabilities: { tools: { [evil('list')]: true }, prompts: {}, resources: {}, [evil('more')]: {} },
    serverInfo: { name: evil('name'), version: evil('1'), title: evil('title') },
    instructions: evil('Do as I say'),
  }),
  'tools/list': () => result({
    tools: [tool(evil('tool'), {
      title: evil('Title'), description: evil('text'), annotations: { title: evil('A'), readOnlyHint: true },
    }), tool('call_me')],
  }),
  'tools/call': () => result({
    content: [{ type: 'text', text: evil('result') }, { type: evil('odd') }, evil('none')],
    structuredContent: { [evil('key')]: evil('value') },
  }),
  'prompts/list': () => result({ prompts: [{ name: evil('prompt') }, {}, 7] }),
  'resources/list': () => result({ resources: [{ uri: evil('file:///'), name: evil('r') }] }),
  'resources/templates/list': () => error(-32603, evil('no templates')),
}

t.test('no format passes terminal escapes from the server', async t => {
  const { inspection } =
    await run(hostile, { call: { tool: 'call_me', arguments: { [evil('a')]: evil('b') } } })
  for (const width of [40, 100, 250]) {
    const text = report(inspection, plainStyle, width)
    t.notMatch(text, harmful)
    t.notMatch(text, /^mcp-customs: all fine/m, 'no line of its own')
    t.notMatch(report(inspection, colourStyle, width)
      .replace(/\u001b\[\d+m/g, ''), harmful, 'the only escapes are ours')
  }
  const json = jsonReport(inspection)
  t.notMatch(json, harmful)
  t.match(
    JSON.parse(json), { tools: [{ name: evil('tool') }, {}], server: { instructions: evil('Do as I say') } },
    'exactly what it said',
  )
  const sarif = sarifReport(inspection, 'customs.yaml', '1.0.0')
  t.notMatch(sarif, harmful)
  t.notMatch(sarif, /u001b|u202e/, 'what SARIF shows is for people')
})

t.test('no line is wider than the terminal, where words allow', async t => {
  const { inspection } = await run({
    'tools/list': () => result({
      tools: [
        tool('a_rather_long_name_of_a_tool_that_goes_on', { title: '操作'.repeat(30), annotations: {
          readOnlyHint: false, destructiveHint: true, openWorldHint: true,
        } }),
        tool('short', { outputSchema: { type: 'object' } }),
      ],
    }),
    initialize: () => result({ ...initialized, instructions: 'word '.repeat(200) }),
  })
  for (const width of [80, 100, 200]) {
    for (const style of [plainStyle, colourStyle]) {
      const lines = report(inspection, style, width).split('\n')
      t.strictSame(lines.filter(line => columnsOf(line) > width), [], `${width} columns`)
    }
  }
  t.equal(
    stripVTControlCharacters(report(inspection, colourStyle, 90)), report(inspection, plainStyle, 90),
    'colours change no letter',
  )
})

t.test('each tool is shown with its arguments, annotations and findings', async t => {
  const { inspection } = await run({
    'tools/list': () => result({
      tools: [
        tool('reads', { title: 'A reader', inputSchema: {
          type: 'object', properties: { path: { type: 'string' }, depth: { type: 'integer' } },
          required: ['path'],
        }, annotations: {
          readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false,
        } }),
        tool('writes', { annotations: {
          title: 'Writes', readOnlyHint: false, destructiveHint: false, idempotentHint: true,
          openWorldHint: true,
        } }),
        tool('lies', { annotations: { readOnlyHint: true, destructiveHint: true } }),
        tool('silent', { outputSchema: { type: 'object' } }),
      ],
    }),
  }, { trusted: true })
  const text = report(inspection, plainStyle, 120)
  t.match(text, /^ {2}reads +path: string, depth\?: integer\n +"A reader"; claims read-only, closed world$/m)
  t.match(
    text, /^ {2}writes +no arguments\n +claims writes, not destructive, idempotent, open world$/m,
    'a title that says the name again is left out',
  )
  t.match(text, /^ {2}lies +no arguments\n +claims read-only, destructive\n +· tool\/contradiction$/m)
  t.match(text, /^ {2}silent +no arguments\n +output schema$/m)
  t.match(text, /^ {2}annotations +on 3 tools, kept: trusted$/m)
  t.match(text, /^4 tools, 0 prompts, 0 resources: ✓ nothing that the policy blocks, 4 findings$/m)
  t.notMatch(text, /--trust/)
})

t.test('missing parts are reported as missing', async t => {
  const empty = await run({
    initialize: () => result({ protocolVersion: '2025-11-25' }), 'tools/list': () => error(-32601, 'No'),
  })
  const text = report(empty.inspection, plainStyle, 100)
  t.match(text, /says it is +nobody \(it gives no name\)/)
  t.match(text, /capabilities +none/)
  t.match(text, /Tools \(0\)\n/)
  t.match(text, /0 tools, 0 prompts, 0 resources: ✓ nothing that the policy blocks$/m)
})

t.test('the result of a call is shown, cut to a readable length', async t => {
  const call = { tool: 'echo', arguments: {} }
  const long = Array.from({ length: 100 }, (_, line) => `line ${line}`).join('\n')
  const shown = async (answer: object) =>
    report((await run({ 'tools/call': () => result(answer) }, { call })).inspection, plainStyle, 100)
  const text = await shown({
    content: [{ type: 'text', text: long }, { type: 'image', data: 'AAAA', mimeType: 'image/png' }],
    isError: true,
  })
  t.match(
    text,
    /Call of echo \{\}\n {2}isError: the tool says that it failed\n {2}content\n {4}line 0\n {4}line 1\n/,
  )
  t.match(text, /… 80 more lines/)
  t.notMatch(text, 'line 60')
  const failed = await run({ 'tools/call': () => error(-32603, 'broken') }, { call })
  t.match(
    report(failed.inspection, plainStyle, 100),
    /Call of echo \{\}\n {2}error the server answered with error -32603: "broken"/,
  )
})

t.test('findings of one rule are shown once', async t => {
  const { inspection } = await run({
    'tools/list': () => result({ tools: Array.from({ length: 40 }, (_, index) => tool(`tool_${index}`)) }),
  })
  const text = report(inspection, plainStyle, 100)
  t.match(text, /· advice\/no-output-schema \(log, 40 times\)/)
  t.match(text, /^ +all 40 tools$/m)
  t.match(text, /^ +→ Declare an outputSchema, .*$/m, 'and what to do about it')
  const most = await run({ 'tools/list': () => result({ tools: Array.from(
    { length: 40 }, (_, index) => tool(`tool_${index}`, index === 0 ? { outputSchema: {} } : {}),
  ) }) })
  t.match(report(most.inspection, plainStyle, 100), /and 27 more/)
  const various = await run({
    'tools/list': () => result({ tools: Array.from(
      { length: 9 }, (_, index) => tool(`tool_${index}`, { title: `${'x'.repeat(index)}\u202e` }),
    ) }),
  })
  t.match(
    report(various.inspection, plainStyle, 100),
    /✗ tool\/hidden-text \(block, 9 times\)[^]*\n {6}and 4 more\n/,
  )
})

t.test('SARIF distinguishes kinds of findings, and findings of two servers', async t => {
  const { inspection } = await run({
    initialize: () => result({ ...initialized, serverInfo: { name: 'own', version: '1' } }),
    'tools/list': () => result({
      tools: [tool('echo', { title: 'x\u202e', annotations: { readOnlyHint: true, destructiveHint: true } })],
    }),
  })
  const sarif = (name: string, isNamed = true) =>
    (JSON.parse(sarifReport({ ...inspection, name, isNamed }, 'a.json', '1.0.0')) as Sarif).runs[0]
  const results = (name: string) => sarif(name)?.results ?? []
  t.match(results('one'), [
    { ruleId: 'tool/contradiction', level: 'warning' },
    { ruleId: 'tool/hidden-text', level: 'error', message: { text: /^tool echo at \/title: / } },
    { ruleId: 'advice/no-output-schema', level: 'note', locations: [{
      logicalLocations: [{ fullyQualifiedName: 'one/echo' }],
    }] },
  ])
  t.equal(new Set([...results('one'), ...results('two')].map(({ partialFingerprints }) =>
    partialFingerprints.primaryLocationLineHash)).size, 6)
  t.equal(sarif('one')?.automationDetails.id, 'mcp-customs/one/')
  t.equal(
    sarif('node', false)?.automationDetails.id, 'mcp-customs/own/',
    'what the server calls itself, where nobody named it',
  )
  t.ok(sarif('one')?.tool.driver.rules.every(({ helpUri, help }) => helpUri.startsWith('https://')
    && help.text.length > 10))
})

interface Sarif {
  readonly runs: readonly {
    readonly automationDetails: { readonly id: string }
    readonly tool: { readonly driver: { readonly rules: readonly {
      readonly helpUri: string; readonly help: { readonly text: string }
    }[] } }
    readonly results: readonly {
      readonly partialFingerprints: { readonly primaryLocationLineHash: string }
    }[]
  }[]
}

t.test('colours depend on the terminal and the environment', t => {
  const cases: [boolean, NodeJS.ProcessEnv, boolean][] = [
    [true, {}, true],
    [false, {}, false],
    [true, { NO_COLOR: '1' }, false],
    [true, { NO_COLOR: '' }, true],
    [true, { TERM: 'dumb' }, false],
    [false, { FORCE_COLOR: '1' }, true],
    [false, { FORCE_COLOR: '3', NO_COLOR: '1' }, true],
    [true, { FORCE_COLOR: '0' }, false],
    [true, { FORCE_COLOR: 'false' }, false],
  ]
  for (const [isTTY, environment, coloured] of cases) {
    t.equal(styleFor({ isTTY }, environment), coloured ? colourStyle : plainStyle, JSON.stringify({
      isTTY, ...environment,
    }))
  }
  t.equal(widthOf({ isTTY: true, columns: 72 }), 72)
  t.equal(widthOf({ isTTY: true, columns: 10 }), 40)
  t.equal(widthOf({ isTTY: true, columns: 0 }), 100)
  t.equal(widthOf({ columns: 72 }), 100)
  t.end()
})

t.test('the spinner turns on a terminal only, and leaves nothing behind', t => {
  const stream = (isTTY: boolean) =>
    Object.assign(new PassThrough(), { isTTY }) as unknown as NodeJS.WriteStream & PassThrough
  const terminal = stream(true)
  const turning = spinner(terminal, {})
  turning.say('connecting')
  turning.stop()
  // Newer versions of Node give a chunk at a time.
  let written = ''
  for (let chunk: unknown; (chunk = terminal.read()) !== null;) written += (chunk as Buffer).toString()
  t.match(written, 'connecting')
  t.ok(written.endsWith('\r\u001b[K'))
  for (const [quiet, environment] of [[stream(false), {}], [stream(true), { TERM: 'dumb' }]] as const) {
    const none = spinner(quiet, environment)
    none.say('connecting')
    none.stop()
    t.equal(quiet.read(), null)
  }
  t.end()
})

import { spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { runAudit as audit } from '#cli/commands.js'
import type { Given } from '#cli/flag.js'
import type { Entry } from '#relay/core/vocabulary.js'
import { called, ended, entry, started } from '../../relay/audit/entries.js'
import { open } from '../../relay/audit/logs.js'
import { start } from '../../e2e/harness.js'
import { counts } from '../report/records.js'
import { cli, demo, run } from '../inspect/start.js'

const zone = { TZ: 'UTC', FORCE_COLOR: undefined, NO_COLOR: undefined }

const write = async (file: string, entries: readonly Entry[], time = '2026-11-21T12:00:00.000Z') => {
  let now = Date.parse(time)
  const audit = await open(file, { now: () => new Date((now += 1000)) })
  for (const one of entries) audit.write(one)
  audit.close()
}

const logs = async (t: Test) => {
  const folder = t.testdir()
  await write(join(folder, 'weather.ndjson'), [started, called, ended])
  await write(
    join(folder, 'files.ndjson'), [entry({ server: 'files', tool: 'read_file', ms: 3, session: 'f' })],
    '2026-11-21T12:00:01.500Z',
  )
  return folder
}

const events = (stdout: string): readonly string[] =>
  stdout.trimEnd().split('\n').map(line => line.replace(/^\S+ \S+ +/, '').replace(/ {2,}/g, ' '))

t.test('audit show prints the records of all logs in order of time', async t => {
  const folder = await logs(t)
  const { code, stdout, stderr } = await run(t, ['audit', 'show', folder], zone)
  t.strictSame([code, stderr], [0, ''])
  t.match(stdout, /^2026-11-21 12:00:02\.000 /)
  t.match(events(stdout), [
    /^pass weather session\/start desk 1.0, 2025-11-25$/,
    /^block weather\.get_weather result\/schema at \/result\/structuredContent\/temperature: must be number$/,
    /^pass files\.read_file$/,
    /^pass weather session\/end the client went away$/,
  ])
})

t.test('audit show reads wrap\'s folder by default', async t => {
  const state = t.testdir()
  await run(t, ['wrap', '--server', 'weather', ...demo], { XDG_STATE_HOME: state })
  t.match(await run(t, ['audit', 'show'], { ...zone, XDG_STATE_HOME: state }), {
    code: 0, stdout: /^\S+ \S+ {2}pass {5}weather session\/start .*\n.* session\/end /, stderr: '',
  })
  t.match(await run(t, ['audit', 'show'], { ...zone, XDG_STATE_HOME: join(state, 'other') }), {
    code: 2, stderr: /no relay of yours has written a log yet/,
  })
})

const chosen: readonly (readonly [string, readonly string[], readonly RegExp[]])[] = [
  [
    'names, a family of rules and a verdict',
    ['--server', 'w*', '--tool', 'get_weather', '--session', 's-1', '--rule', 'result', '--verdict', 'block'],
    [/block weather\.get_weather/],
  ],
  [
    'a time, and the last of it',
    ['--since', '2026-11-21T12:00:02.500', '--until', '2026-11-21T12:00:04', '--last', '1'], [/read_file/],
  ],
]

t.test('audit show filters records', async t => {
  const folder = await logs(t)
  for (const [name, flags, lines] of chosen) {
    const { stdout } = await run(t, ['audit', 'show', ...flags, folder], zone)
    t.equal(stdout.split('\n').length - 1, lines.length, name)
    t.match(events(stdout), lines, name)
  }
  const { stdout } = await run(t, ['audit', 'show', '--json', '--verdict', 'block', folder], zone)
  t.equal(
    stdout, `${readFileSync(join(folder, 'weather.ndjson'), 'utf8').split('\n')[1] ?? ''}\n`,
    'as JSON, the record itself',
  )
  t.match((await run(
    t, ['audit', 'show', '--long', '--verdict', 'block', folder], { ...zone, FORCE_COLOR: '1' },
  )).stdout, /\u001b\[31mblock.*\n {4}event tools\/call · session s-1 .*weather\.ndjson:2 \(record 2\)\n$/s)
})

t.test('audit show prints no terminal escapes from records', async t => {
  const folder = t.testdir()
  const text = '\u001b[2J\u009b31m\u202e\u{e0041}<script>'
  await write(join(folder, 'a.ndjson'), [entry({
    tool: text, client: { name: text, version: text }, reason: text,
    findings: [{ rule: 'result/schema', path: text, message: text }], verdict: 'block',
  })])
  for (const flags of [['--long'], ['--json']]) {
    const { stdout } = await run(t, ['audit', 'show', ...flags, folder], zone)
    t.notMatch(stdout, /[^\n\x20-\x7e·…→]/, flags.join())
    t.match(stdout, /<script>/)
  }
  const { stdout } = await run(t, ['audit', 'show', '--json', folder], zone)
  t.match(JSON.parse(stdout), { tool: text }, 'and the JSON is the same JSON')
})

t.test('audit show ends when its reader has gone', async t => {
  const folder = t.testdir()
  await write(join(folder, 'a.ndjson'), Array.from({ length: 5000 }, () => entry()))
  const child = spawn(process.execPath, [cli, 'audit', 'show', folder], { stdio: ['ignore', 'pipe', 'pipe'] })
  let errors = ''
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()))
  child.stdout.once('data', () => child.stdout.destroy())
  t.equal(await new Promise(resolve => child.on('close', resolve)), 0)
  t.equal(errors, '')
})

t.test('audit show -f continues with new records, across rotation', async t => {
  const file = join(t.testdir(), 'a.ndjson')
  const audit = await open(file, { maxBytes: 1000 })
  audit.write(started)
  const shown = start(t, process.execPath, [cli, 'audit', 'show', '-f', '--server', 'weather', file], zone)
  t.match(await shown.next(), /session\/start/)
  for (let call = 1; call <= 12; call += 1) {
    audit.write(entry({ tool: `tool-${call}` }))
    t.match(await shown.next(), new RegExp(`\\.tool-${call}$`))
  }
  t.ok(readdirSync(join(file, '..')).filter(name => name.endsWith('.ndjson')).length > 2)
  audit.close()
})

const mistakes: readonly (readonly [string, string, Given, RegExp])[] = [
  [
    'a time that is none', 'show', new Map([['since', 'yesterday']]),
    /^--since "yesterday": neither a time before now/,
  ],
  [
    'a time that is none, of a report', 'report', new Map([['until', '2026-13-01']]),
    /^--until "2026-13-01": neither/,
  ],
  ['a flag of another action', 'verify', new Map([['json', true]]), /^audit verify knows no --json$/],
  ['a number that is none', 'show', new Map([['last', 'x']]), /^--last "x": must be a whole number/],
  ['two formats', 'show', new Map([['json', true], ['long', true]]), /either --json or --long/],
  [
    'an action that is none', 'explain', new Map(),
    /^audit "explain": no such action \(there is: verify, show, report\)$/,
  ],
  ['a folder that is not there', 'show', new Map(), /^\/nowhere: cannot be read: .*\(ENOENT\)$/],
  ['a report of nothing', 'report', new Map(), /^\/nowhere: cannot be read: .*\(ENOENT\)$/],
]

t.test('an error is reported in one line', async t => {
  for (const [name, action, given, message] of mistakes) {
    await t.rejects(audit(given, [action, '/nowhere']), { message }, name)
  }
})

interface Data {
  readonly records: number
  readonly all: { readonly calls: readonly number[] }
  readonly logs: readonly { readonly ok: boolean; readonly text: string }[]
}

const dataOf = (html: string): Data =>
  JSON.parse(/<script type="application\/json" id="summary">(.*?)<\/script>/s.exec(html)?.[1] ?? '') as Data

t.test('audit report writes one page without network requests, readable only by its owner', async t => {
  const folder = await logs(t)
  const output = join(folder, 'report.html')
  t.match(await run(t, ['audit', 'report', folder, '-o', output]), {
    code: 0, stdout: '', stderr: `${output}: written\n`,
  })
  const html = readFileSync(output, 'utf8')
  t.match(dataOf(html), { records: 4, all: { calls: counts({ pass: 1, block: 1 }) }, logs: [
    { ok: true, text: /files.ndjson: ok, 1 record/ }, { ok: true },
  ] })
  t.equal(statSync(output).mode & 0o777, 0o600)
  t.match(
    html,
    /Content-Security-Policy" content="default-src 'none'; script-src 'sha256-[^']+'; style-src 'sha256-[^']+'; img-src data:; base-uri 'none'; form-action 'none'"/,
  )
  t.notMatch(
    html.replace(/<script type[^]*?<\/script>/, ''),
    /<(?:script|link|img|iframe)[^>]+(?:src|href)="(?!data:)/,
  )
})

t.test('audit report filters by time and server, and writes to stdout', async t => {
  const folder = await logs(t)
  const { stdout } = await run(
    t, ['audit', 'report', folder, '-o', '-', '--server', 'weather', '--since', '2026-11-21T12:00:03Z'],
  )
  t.match(dataOf(stdout), { records: 2, all: { calls: counts({ block: 1 }) } })
})

t.test('a report of files without any record, such as a capture, is an error and writes no page', async t => {
  const folder = t.testdir({ 'capture.ndjson': '{"capture":1}\n{"at":2}\n' })
  const [file, output] = ['capture.ndjson', 'report.html'].map(name => join(folder, name))
  t.match(await run(t, ['audit', 'report', file ?? '', '-o', output ?? '']), {
    code: 2, stdout: '', stderr: `mcp-customs: ${file ?? ''}: no line is a record of an audit log ` +
      '(captures are for mcp-customs replay and learn)\n',
  })
  t.notOk(existsSync(output ?? ''))
})

t.test('no text of a record can end the script that holds it', async t => {
  const folder = t.testdir()
  await write(
    join(folder, 'a.ndjson'), [entry({ tool: '</script><script>alert(1)</script><!--', verdict: 'block' })],
  )
  const { stdout } = await run(t, ['audit', 'report', folder, '-o', '-'])
  t.equal(stdout.split('<script').length, 3, 'the data and the page')
  t.notMatch(stdout, 'alert(1)</script>')
  t.match(JSON.stringify(dataOf(stdout)), 'alert(1)</script>')
})

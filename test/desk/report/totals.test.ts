import t from 'tap'
import type { LogRecord } from '#relay/audit/read/record.js'
import type { Spread, Summary } from '#desk/report/summary.js'
import { outcomes } from '#desk/report/totals/group.js'
import { summaryOf as summaryIn, take, totals as counted } from '#desk/report/totals/totals.js'
import { Window } from '#desk/report/totals/window.js'
import { sumOf } from '#desk/report/units.js'
import { counts, finding, hostile, record, traffic } from './records.js'

const summaryOf = (records: readonly LogRecord[]): Summary => {
  const totals = counted.empty()
  for (const one of records) take(totals, one)
  return summaryIn(totals, 0)
}

const rank = (values: readonly number[], share: number): number =>
  [...values].sort((a, b) => a - b)[Math.ceil(share * values.length) - 1] ?? 0
const within = (t: Tap, got: number, wanted: number, name: string) =>
  t.ok(Math.abs(got - wanted) <= 0.021 * wanted + 0.001, `${name}: ${got} for ${wanted}`)
type Tap = Pick<typeof t, 'ok'>

const newsOf = ({ findings }: LogRecord) => findings.filter(({ rule }) => rule !== 'tool/annotations')
const isNews = (one: LogRecord) => one.findings.length === 0 || newsOf(one).length > 0
const isHeld = (one: LogRecord) => (one.verdict === 'block' || one.verdict === 'demote') && isNews(one)

const byVerdict = (of: readonly LogRecord[]) =>
  outcomes.map(outcome => of.filter(one => one.verdict === outcome).length)

const records = traffic(6000)
/** The records that count: not about the log itself, nor of a call that is being sent. */
const decisions = records.filter(({ verdict, phase }) => verdict !== undefined && phase !== 'sent')
const calls = decisions.filter(({ event }) => event === 'tools/call')

t.test('server requests named like calls or session events count as neither', t => {
  const asked = ['session/start', 'session/end', 'tools/call'].map(event => record({ event, from: 'server' }))
  const { all, sessions } = summaryOf([record({ event: 'session/start', from: 'relay' }), ...asked])
  t.match(all, { sessions: 1, calls: counts({}) })
  t.match(sessions.rows, [{ calls: 0, ended: undefined }])
  t.end()
})

t.test('the counts of all servers, and of each, equal counts by filter', t => {
  const summary = summaryOf(records)
  t.equal(summary.records, 6000)
  t.strictSame([summary.from, summary.to], [records[0]?.time, records.at(-1)?.time])
  t.same(summary.servers.map(({ server }) => server).sort(), ['files', 'memory', 'weather'])
  for (const group of [summary.all, ...summary.servers]) {
    const name = group.server ?? 'all'
    const own = (one: LogRecord) => group.server === undefined || one.server === group.server
    const [mine, all] = [calls.filter(own), decisions.filter(own)]
    t.strictSame(group.calls, byVerdict(mine), name)
    t.equal(group.findings, all.reduce((sum, one) => sum + newsOf(one).length + one.more, 0), name)
    t.equal(group.errors, mine.filter(({ error }) => error !== undefined).length, name)
    t.equal(group.sessions, all.filter(({ event }) => event === 'session/start').length, name)
    for (const { rule, findings, records: of } of group.rules.rows) {
      const found = all.filter(one => newsOf(one).some(each => each.rule === rule))
      t.equal(findings, found.flatMap(newsOf).filter(each => each.rule === rule).length, rule)
      t.strictSame(of, byVerdict(found), rule)
    }
    for (const { server, tool, calls: of } of group.tools.rows) {
      t.strictSame(of, byVerdict(calls.filter(one => one.server === server && one.tool === tool)), tool)
    }
    t.equal(new Set(mine.map(({ tool }) => tool)).size, group.tools.rows.length)
  }
  t.end()
})

t.test('the series over time add up to the counts, in at most 181 periods', t => {
  const summary = summaryOf(records)
  for (const { server, series, calls: counted } of [summary.all, ...summary.servers]) {
    t.strictSame(outcomes.map((_, kind) => sumOf(series.map(row => row[kind + 1] ?? 0))), counted)
    const others = decisions.filter(one => isHeld(one) && one.event !== 'tools/call')
      .filter(one => server === undefined || one.server === server)
    t.equal(sumOf(series.map(row => row[outcomes.length + 1] ?? 0)), others.length)
  }
  const { periods: { from, step, count } } = summary
  for (const [index = -1] of summary.all.series) t.ok(index >= 0 && index < count, `period ${index}`)
  t.ok(count <= 181, `${count} periods`)
  t.ok(from <= (records[0]?.time ?? 0) && from + count * step > (records.at(-1)?.time ?? 0))
  const [early, late] = [Date.UTC(1970, 0), Date.UTC(2026, 10)]
  const wide = summaryOf([early, late, late + 1].map(time => record({ time })))
  t.ok(wide.periods.count <= 181, 'a wrong clock makes the periods long, not many')
  t.strictSame(wide.all.series.map(([index, pass]) => [index, pass]), [[0, 1], [wide.periods.count - 1, 2]])
  t.end()
})

t.test('quantiles are within 2 % of the exact ones', t => {
  const { all } = summaryOf(records)
  const relayTimes = calls.flatMap(({ ms, serverMs, response }) => {
    if (ms === undefined || (serverMs === undefined && response !== undefined)) return []
    return [Math.max(0, ms - (serverMs ?? 0))]
  })
  const cases: readonly (readonly [string, Spread, readonly number[]])[] = [
    ['at the server', all.upstream, calls.flatMap(({ serverMs }) => serverMs ?? [])],
    ['in the relay', all.relay, relayTimes],
    ['responses', all.response, calls.flatMap(({ response }) => response ?? [])],
  ]
  for (const [name, spread, values] of cases) {
    t.equal(spread.count, values.length, name)
    within(t, spread.p50, rank(values, 0.5), `${name}, p50`)
    within(t, spread.p95, rank(values, 0.95), `${name}, p95`)
    within(t, spread.p99, rank(values, 0.99), `${name}, p99`)
    within(t, spread.most, Math.max(...values), `${name}, most`)
    t.equal(spread.classes.reduce((sum, [, count]) => sum + count, 0), values.length)
  }
  t.end()
})

t.test('messages that were held back are in one group each, by server, tool, verdict, rule and path', t => {
  const held = decisions.filter(isHeld)
  const { held: { rows, left }, periods } = summaryOf(records)
  t.equal(sumOf(rows.map(row => row.count)) + left, held.length)
  const alone = rows.filter(({ subject }) => subject !== '…')
  t.ok(alone.length > 100)
  for (const row of alone) {
    const own = held.filter(({ server, tool, event, verdict }) =>
      server === row.server && (tool ?? event) === row.subject && verdict === row.verdict)
      .filter(one => (newsOf(one)[0]?.rule ?? '') === row.rule)
    const times = own.map(({ time }) => time)
    t.strictSame([row.count, row.first, row.last], [own.length, Math.min(...times), Math.max(...times)])
    t.equal(sumOf(row.series.map(([, number = 0]) => number)), row.count)
    for (const [index = -1] of row.series) t.ok(index >= 0 && index < periods.count)
    t.equal(row.newest.time, row.last)
  }
  t.end()
})

t.test('a group has the finding that decided, whose fault it was, the clients, and the newest record', t => {
  const findings = [
    finding('call/arguments', '/params/arguments/n', 'must be integer'),
    finding('result/schema', '/result/structuredContent/rows/17/t', 'must be number'),
  ]
  const digests = { arguments: 'sha256-1', result: 'sha256-2' }
  const blocked = record({ verdict: 'block', findings, digests })
  const later = { ...blocked, time: blocked.time + 60_000, client: 'other 2.0', id: 6 }
  t.match(summaryOf([later, blocked]).held.rows, [{
    subject: 'get_weather', verdict: 'block', rule: 'result/schema', fault: 'server', count: 2,
    path: '/result/structuredContent/rows/*/t', clients: ['other 2.0', 'desk 1.0'],
    newest: {
      time: later.time, reason: 'must be number',
      findings: [/^result\/schema at \/result\/structuredContent\/rows\/17\/t: /, /^call\/arguments /],
      facts: [['method', 'tools/call'], ['id', '6'], ['session', 's-1'], ['client', 'other 2.0']],
      command: 'mcp-customs audit show --server weather --session s-1 ' +
        '--since 2026-11-21T12:01:00.000Z --until 2026-11-21T12:01:00.001Z --long',
    },
  }])
  const refused = record({
    event: 'http/refused', tool: undefined, verdict: 'block', reason: 'HTTP 401: no token', peer: '10.0.0.1',
  })
  t.match(summaryOf([refused]).held.rows, [
    { fault: 'client', rule: '', newest: { reason: 'HTTP 401: no token (10.0.0.1)' } },
  ])
  const faults = [['wire/json', '/result'], ['wire/json', '/params'], ['call/denied', ''], ['tool/drift', '']]
  t.strictSame(faults.map(([rule = '', path]) =>
    summaryOf([record({ verdict: 'block', findings: [finding(rule, path)] })]).held.rows[0]?.fault),
  ['server', 'client', 'configuration', undefined])
  t.end()
})

t.test('an element that a list lost is withheld; the list itself is not held back', t => {
  const lost = (index: number) =>
    ({ ...finding('tool/hidden-text', `/result/tools/${index}/description`, 'U+200B'), tool: 'add' })
  const named = { ...finding('tool/name', '/result/tools/2/name', 'is long'), tool: 'x' }
  const list = (time: number, findings: LogRecord['findings']) =>
    record({ event: 'tools/list', tool: undefined, verdict: 'block', time, findings })
  const { offers, held, all } = summaryOf([list(1000, [lost(6), named]), list(2000, [lost(7)])])
  t.match(offers.rows.filter(({ isMissing }) => isMissing), [{
    name: 'add', rule: 'tool/hidden-text', fault: 'server', path: '/description', message: 'U+200B',
    count: 2, first: 1000, last: 2000,
  }])
  t.match(offers.rows.filter(({ isMissing }) => !isMissing), [{ name: 'x', path: '/name' }])
  t.strictSame(held.rows, [])
  t.equal(sumOf(all.series.map(row => row.at(-1) ?? 0)), 0)
  const logged = { ...finding('tool/drift', '/result/tools/0'), tool: 'kept' }
  const both = { ...list(3000, [lost(6), logged]), tools: ['kept'] }
  t.match(summaryOf([both]).offers.rows.filter(({ isMissing }) => isMissing), [{ name: 'add' }],
    'what clients do get is not missing')
  const twice = { ...finding('resource/duplicate', '/result/resources'), resource: 'x://1' }
  const merged = summaryOf([{ ...list(4000, [twice]), event: 'resources/list', from: 'relay' }])
  t.match(merged.offers.rows, [{ name: 'x://1', kind: 'resource', isMissing: true }], 'at the merged endpoint')
  t.strictSame(merged.held.rows, [])
  t.match(
    summaryOf([record({ shown: 'weather__get_weather' }), record()]).all.tools.rows,
    [{ tool: 'get_weather', shown: 'weather__get_weather' }],
  )
  const whole = summaryOf([list(1000, [finding('wire/json', '')])])
  t.match(whole.held.rows, [{ subject: 'tools/list', rule: 'wire/json' }], 'a list that was blocked whole is')
  t.end()
})

t.test('a server is down from its last failure until it answers', t => {
  const failed = (time: number, health: LogRecord['health'], stderr: readonly string[] = []) => record({
    event: 'server/health', from: 'relay', tool: undefined, verdict: 'log', serverMs: undefined, time, health,
    reason: `${health ?? ''} at ${time}`, stderr,
  })
  const answered = (time: number) => record({ time })
  const states = (records: readonly LogRecord[]) => summaryOf(records).health
  t.match(
    states([failed(2, 'exit'), record({ time: 3, server: 'weather', serverMs: 5, error: -31001 })]),
    [{ isDown: true }], 'the call that was lost with the server is no answer of it',
  )
  t.strictSame(states([answered(1)]), [])
  t.match(states([answered(1), failed(2, 'exit', ['a', 'b\u001b[2J']), failed(3, 'silence')]), [
    { server: 'weather', health: 'silence', reason: 'silence at 3', isDown: true, count: 2, first: 2, last: 3 },
  ])
  t.match(states([failed(2, 'exit', ['a', 'b\u001b[2J'])]), [{ stderr: ['a', 'b<U+001B>[2J'] }])
  t.match(states([failed(2, 'exit'), answered(3)]), [{ isDown: false, count: 1 }])
  t.match(states([failed(2, 'exit'), failed(3, 'restored')]), [{ isDown: false, count: 1, reason: 'exit at 2' }])
  t.end()
})

t.test('names that a shell could misread are not in the command of a record', t => {
  for (const name of ['a; rm -rf ~', '$(id)', '--json', 'o\'neill', 'a\nb']) {
    const [row] = summaryOf([record({ server: name, session: name, verdict: 'block' })]).held.rows
    t.match(row?.newest.command, /^mcp-customs audit show --since [-\dT:.Z]+ --until [-\dT:.Z]+ --long$/)
  }
  t.end()
})

t.test('one noisy tool, and one noisy server, leave the groups of others in the page', t => {
  const totals = counted.empty()
  const flood = 3000
  for (let index = 0; index < flood; index += 1) {
    const findings = [finding('result/schema', `/result/structuredContent/k${index}`)]
    take(totals, record({ time: index, verdict: 'block', findings }))
    take(totals, record({ time: index, server: 'names', tool: `t${index}`, verdict: 'block', findings }))
  }
  const others = record({ tool: 'other', verdict: 'demote', findings: [finding('result/missing')] })
  take(totals, others)
  take(totals, { ...others, server: 'files' })
  const { held: { rows, left } } = summaryIn(totals, 0)
  const of = (server: string) => rows.filter(row => row.server === server)
  t.match(of('files'), [{ subject: 'other', count: 1 }])
  t.equal(of('weather').length, 12, 'ten paths, one row for all others, and the other tool')
  t.equal(sumOf(of('weather').map(row => row.count)), flood + 1)
  t.equal(sumOf(of('names').map(row => row.count)), flood)
  t.ok(of('names').length <= 201, `${of('names').length} rows`)
  t.equal(left, 0)
  t.end()
})

t.test('each session and each finding about a list has one row', t => {
  const { sessions, offers } = summaryOf(records)
  for (const { server, session, calls: counted, held } of sessions.rows) {
    const own = decisions.filter(one => one.server === server && one.session === session)
    const ownCalls = own.filter(({ event }) => event === 'tools/call')
    t.strictSame([counted, held], [ownCalls.length, own.filter(isHeld).length], session)
  }
  const drifts = decisions.flatMap(one => newsOf(one).filter(({ rule }) => rule === 'tool/drift'))
  const rows = offers.rows.filter(({ rule }) => rule === 'tool/drift')
  t.equal(sumOf(rows.map(row => row.count)), drifts.length)
  t.end()
})

t.test('records in any order, and merged from slices, give the same totals', t => {
  const shuffled = records.map((one, index) => ({ one, by: (index * 7919) % records.length }))
    .sort((a, b) => a.by - b.by).map(({ one }) => one)
  const whole = summaryOf(records)
  t.strictSame(summaryOf(shuffled).all, whole.all)
  const window = new Window(48 * 3_600_000)
  for (const one of shuffled) window.take(one, Date.UTC(2026, 10, 21, 12))
  const parts = window.summary(Date.UTC(2026, 10, 21, 12))
  t.strictSame({ ...parts.all, tools: undefined }, { ...whole.all, tools: undefined })
  t.strictSame(parts.held, whole.held)
  // As from another thread.
  const halves = [shuffled.slice(0, 3000), shuffled.slice(3000)].map(half => {
    const one = new Window(Infinity)
    for (const each of half) one.take(each, 0)
    return structuredClone(one.state)
  })
  const merged = new Window(Infinity)
  for (const half of halves) merged.merge(half)
  const sum = merged.summary(0)
  for (const part of ['records', 'all', 'servers', 'held', 'health', 'offers'] as const) {
    t.strictSame(sum[part], whole[part], part)
  }
  t.end()
})

t.test('records outside the window are dropped, and memory does not grow with time', t => {
  const day = 86_400_000
  const window = new Window(day)
  const start = Date.UTC(2026, 0)
  let longest = 0
  for (let hour = 0; hour < 24 * 30; hour += 1) {
    const now = start + hour * 3_600_000
    for (let each = 0; each < 20; each += 1) {
      const names = { session: `s-${hour}-${each}`, tool: `tool-${hour}` }
      window.take(record({ time: now + each, ...names, verdict: 'block' }), now)
    }
    longest = Math.max(longest, hour % 24 === 0 ? JSON.stringify(window.summary(now)).length : 0)
  }
  const now = start + 24 * 30 * 3_600_000
  const { records: count, from = 0 } = window.summary(now)
  t.ok(count > 0 && count <= 26 * 20, `${count} records`)
  t.ok(from >= now - 25 * 3_600_000)
  t.ok(JSON.stringify(window.summary(now)).length <= longest)
  window.take(record({ time: now + 10 * day }), now)
  t.equal(window.summary(now).records, count, 'a record from the far future is dropped')
  t.end()
})

t.test('a flood of names, sessions and findings is counted in bounded memory', t => {
  const totals = counted.empty()
  const flood = 4000
  for (let index = 0; index < flood; index += 1) {
    const names = { server: `server-${index % 1000}`, tool: `tool-${index}`, session: `s-${index}` }
    const findings = [finding(`tool/${index}`, '/x'.repeat(200), `${index}`)]
    take(totals, record({ time: index, ...names, verdict: 'block', findings }))
    take(totals, record({ time: index, server: 'often', tool: 'often' }))
  }
  const summary = summaryIn(totals, 0)
  t.equal(summary.all.calls.reduce((sum, number) => sum + number, 0), 2 * flood)
  const often = { server: 'often', calls: counts({ pass: flood }) }
  t.match(summary.servers[0], often, 'the server with most calls keeps its own row')
  t.ok(summary.servers.length <= 50)
  t.ok(JSON.stringify(summary).length < 3_000_000, `${JSON.stringify(summary).length} characters`)
  for (const name of ['held', 'sessions', 'offers'] as const) t.ok(summary[name].left > 0, `${name} left out`)
  t.end()
})

t.test('no untrusted text is longer than its limit or contains hidden characters', t => {
  for (const [name, text] of hostile) {
    const findings = [finding(text, text, text), finding(`tool/${text}`, text, text)]
    const names = { server: text, tool: text, session: text, client: text, revision: text, reason: text }
    const call = record({ ...names, event: 'tools/call', verdict: 'block', findings })
    const json = JSON.stringify(summaryOf([call, record({ event: 'session/end', reason: text })]))
    t.notMatch(json, /(?! )[\p{C}\p{Zl}\p{Zp}]/u, name)
    t.ok(json.length < 30_000, `${name}: ${json.length} characters`)
  }
  t.end()
})

t.test('noise on stdout is no message that was held back', t => {
  const noisy = record({
    event: 'wire', from: 'server', tool: undefined, verdict: 'block', findings: [finding('wire/json', '')],
  })
  const held = (reason: string | undefined) => summaryOf([{ ...noisy, reason }]).held.rows.length
  t.equal(held('noise on stdout'), 0)
  t.equal(held(undefined), 1)
  t.equal(summaryOf([{ ...noisy, reason: 'noise on stdout' }]).records, 1)
  t.end()
})

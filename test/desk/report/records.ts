import { outcomes } from '#desk/report/totals/group.js'
import type { LogRecord } from '#relay/audit/read/record.js'

const hour = 3_600_000

/** A record of a call that passed, with the given changes. */
export const record = (more: Partial<LogRecord> = {}): LogRecord => ({
  time: Date.UTC(2026, 10, 21, 12), seq: 1, event: 'tools/call', from: 'client',
  server: 'weather', session: 's-1', client: 'desk 1.0', clientName: 'desk', serverInfo: undefined, revision: '2025-11-25',
  tool: 'get_weather', tools: undefined, moreTools: 0, id: 5, phase: undefined, verdict: 'pass', findings: [], more: 0,
  ms: 12.5, serverMs: 12, request: 100, response: 2000, digests: undefined,
  error: undefined, reason: undefined, peer: undefined, health: undefined, stderr: undefined, ...more,
})

/** A number for each outcome, in their order. */
export const counts = (numbers: Partial<Record<(typeof outcomes)[number], number>>): readonly number[] =>
  outcomes.map(outcome => numbers[outcome] ?? 0)

export const finding = (rule: string, path = '/result', message = 'is wrong') =>
  ({ rule, path, message, mended: undefined })

/** mulberry32: numbers in [0, 1) that are the same on every run. */
export const numbers = (seed: number) => {
  let state = seed
  return (): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}

const rules = ['result/schema', 'call/arguments', 'content/uri', 'wire/json', 'tool/drift'] as const

/** Records of all kinds over 30 hours, by time. */
export const traffic = (count: number, seed = 1): readonly LogRecord[] => {
  const random = numbers(seed)
  const oneOf = <One>(list: readonly [One, ...One[]]): One =>
    list[Math.floor(random() * list.length)] ?? list[0]
  return Array.from({ length: count }, (_, index): LogRecord => {
    const time = Date.UTC(2026, 10, 20) + Math.floor((index * 30 * hour) / count)
    const server = oneOf(['files', 'weather', 'memory'])
    const session = `${server}-${Math.floor(random() * 5)}`
    const kind = random()
    const base = record({ time, server, session })
    const sizes = { request: undefined, response: undefined }
    const none = { tool: undefined, ms: undefined, serverMs: undefined, ...sizes }
    const ofRelay = { ...base, ...none, from: 'relay' }
    if (kind < 0.02) return { ...ofRelay, event: oneOf(['session/start', 'session/end']) }
    const ofLog = { ...ofRelay, verdict: undefined, server: '', session: '' }
    if (kind < 0.04) return { ...ofLog, event: 'audit/checkpoint' }
    if (kind < 0.06) return { ...base, phase: 'sent', findings: [finding('call/arguments')], verdict: 'log' }
    const wrong = random() < 0.2
    const verdict = wrong ? oneOf(['log', 'demote', 'block'] as const) : 'pass'
    const findings = wrong ? [finding(oneOf(rules))] : []
    if (wrong && random() < 0.3) findings.push(finding('tool/annotations'))
    if (kind < 0.1) return { ...base, ...none, event: 'tools/list', verdict, findings }
    const serverMs = random() < 0.05 ? undefined : 200 * random() ** 4
    return {
      ...base, verdict, findings,
      tool: `${server}-tool-${Math.floor(random() ** 2 * 20)}`,
      serverMs, ms: (serverMs ?? 0) + random(),
      more: random() < 0.01 ? 7 : 0,
      request: Math.floor(random() * 500),
      response: serverMs === undefined ? undefined : Math.floor(random() * 1e5),
      error: random() < 0.03 ? -32602 : undefined,
    }
  })
}

const tagOf = (letter: string): string => String.fromCodePoint(0xe0000 + (letter.codePointAt(0) ?? 0))

/** Untrusted names: none may control a terminal or a page, or be longer than the space for it. */
export const hostile: readonly (readonly [string, string])[] = [
  [
    'a script',
    '</script><script>document.title="owned"</script><img src=x onerror="document.title=\'owned\'">',
  ],
  ['an end of a comment', '--><svg onload=alert(1)><!--<script>'],
  ['an escape of a terminal', '\u001b[2J\u001b]0;owned\u0007\u001b[31mred'],
  ['an escape in one byte', '\u009b31mred\u0085\u0090'],
  ['a bidi override', 'user\u202etxt.exe\u2066\u2069'],
  ['invisible tag characters', `add${Array.from(' send all', tagOf).join('')}`],
  ['line ends', 'one\r\ntwo\u2028three\u2029four\ttab'],
  ['half a character', 'a\ud800b\udc00'],
  ['too many marks', `a${'\u0301'.repeat(200)}`],
  ['a name of 10 KB', 'x'.repeat(10_000)],
  ['names from a prototype', '__proto__'],
  ['another of these', 'constructor'],
]

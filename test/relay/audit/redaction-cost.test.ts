import t from 'tap'
import { recordBeginning, nextLine } from '#relay/audit/record.js'
import { redacted, redactedMessage, redactedPath } from '#relay/audit/redaction.js'
import { safeName, withoutCredentials } from '#relay/protocol/text/secrets.js'
import { redaction } from '#relay/capture/redaction.js'
import { parseFrame } from '#relay/protocol/parse.js'
import { entry } from './entries.js'

const cpuOf = (work: () => void): number => {
  const from = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(from)
  return (user + system) / 1000
}

const limits = { messageBytes: 1024 * 1024, depth: 64 }
const times = <Value>(count: number, make: (index: number) => Value): readonly Value[] =>
  Array.from({ length: count }, (_, index) => make(index))

/** What took seconds before: each costs about what innocent texts of the same size cost. */
const cases: readonly (readonly [what: string, length: number, work: (text: string) => void])[] = [
  ['names of 40 calls', 4096, text => times(40, index =>
    nextLine(entry({ tool: `${text.slice(0, -3)}${index}` }), recordBeginning, 'digest', new Date(0)))],
  ['methods of 100 requests of a server', 4096, text => times(100, index =>
    nextLine(entry({ event: `method:${text.slice(0, -3)}${index}` }), recordBeginning, 'digest', new Date(0)))],
  ['five requests before login', 15_000, text => times(5, index => safeName(`/${index}${text}`))],
  ['a result of 64 KB in a capture', 65_536, text => {
    const result = { content: [{ type: 'text', text }] }
    redaction().bytes(parseFrame(Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, result })), limits))
  }],
  ['a result of 64 KB in a record', 65_536, text => {
    const result = Buffer.from(JSON.stringify({ content: [{ type: 'text', text }] }))
    nextLine(entry({ result }), recordBeginning, 'redacted', new Date(0))
  }],
]

t.setTimeout(120_000)

for (const [what, length, work] of cases) {
  t.test(`what a stranger may choose costs no more than other letters: ${what}`, t => {
    const [odd, innocent] = [`<${'a'.repeat(length - 1)}`, 'b'.repeat(length)]
    // In turns, because the machine may be busy now and idle then; the least of each is compared.
    const least = [Infinity, Infinity] as [number, number]
    for (let round = 0; round < 8; round++) {
      for (const [index, text] of [odd, innocent].entries()) {
        const spent = cpuOf(() => times(8, () => work(text)))
        least[index] = Math.min(least[index] ?? Infinity, spent)
      }
    }
    t.ok(least[0] <= 1.3 * least[1] + 1, `${least[0]} ms, and ${least[1]} ms of other letters`)
    t.end()
  })
}

/** What the search begins to read, in every state of it. */
const pieces = [
  'eyJ', '-eyJ', 'eyJaaaaaaaa.', 'a=', 'a="', 'password="', 'password=\\"', 'password:', 'token=\'', '--token ',
  '://', '://a:', 'bearer ', 'basic ', '-----BEGIN PRIVATE KEY-----', '-----BEGIN ', 'sk-', '\\', ' ', '=', '"',
  'ghp_', 'SG.a', 'basic aaaa', '://a:b', '://a:/', '?key=', 'password a', ':', 'cookie: \n', '<', '<a', '[', '~1',
  '/', '/a1b', 'password=[', '--', '--a', '@', '://a@', 'A', 'aB', '_', 'a.', '\\"', '\'', '`', 'é', '\u200b', '\ud800',
]

t.test('no text takes long to search', t => {
  const value = (text: string) => redacted([text, { [text]: text }, ...text.slice(0, 4096).split('')])
  for (const search of [withoutCredentials, safeName, redactedPath, redactedMessage, value]) {
    for (const piece of pieces) {
      const cost = (length: number) => {
        const text = piece.repeat(length / piece.length)
        return Math.min(cpuOf(() => search(text)), cpuOf(() => search(text)))
      }
      const short = cost(16_384)
      if (short < 4) continue
      const long = cost(65_536)
      t.ok(long < 8 * short, `${search.name} of ${JSON.stringify(piece)}: ${short} ms, then ${long} ms`)
    }
  }
  t.end()
})

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { setImmediate as turn } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { usual } from '#relay/config/configuration.js'
import { stdioExchange } from '#relay/core/event.js'
import type { Translate } from '#relay/eras/index.js'
import { parseFrame } from '#relay/protocol/parse.js'
import { createSchemaChecker } from '#relay/schema/index.js'
import { openSession } from '#relay/session/open.js'
import type { Transport, TransportEvent } from '#relay/transport/transport.js'
import { judgementOf } from '../../judgement.js'
import { limits } from './play.js'

// Within one era nothing is translated: what servers and clients of all kinds have said goes through a
// session with each setting, and all bytes are those of `off`.

type Side = 'client' | 'server'
type Line = readonly [from: Side, text: string]

const checker = createSchemaChecker(usual.limits)
t.teardown(() => checker.close())

/** @param isAnswered each line of the server reaches the client @returns what both sides get */
const played = async (
  lines: readonly Line[], isAnswered: boolean, translate: Translate,
): Promise<readonly string[]> => {
  const got: string[] = []
  const reports = new Map<Side, (event: TransportEvent) => void>()
  const end = (side: Side): Transport => ({
    start: onEvent => void reports.set(side, onEvent),
    send: (_, { bytes }) => got.push(`${side} ${bytes.toString()}`) > 0,
    pause: () => undefined, resume: () => undefined, close: () => Promise.resolve(),
  })
  const session = openSession({
    judgement: judgementOf({ listMs: 10_000 }), checker, audit: () => () => undefined,
    eras: { translate, limits },
  }, end('client'), () => end('server'))
  session.start()
  for (const [from, text] of lines) {
    const before = got.length
    reports.get(from)?.({ type: 'frame', exchange: stdioExchange, frame: parseFrame(Buffer.from(text), limits) })
    // A long list is checked beside the event loop.
    do await turn()
    while (from === 'server' && isAnswered && !got.slice(before).some(one => one.startsWith('client')))
  }
  reports.get('client')?.({ type: 'ended', reason: 'over' })
  return got
}

const compare = async (name: string, lines: readonly Line[], isAnswered = true): Promise<number> => {
  const off = await played(lines, isAnswered, 'off')
  for (const translate of ['auto', 'both'] as const)
    t.strictSame(await played(lines, isAnswered, translate), off, `${name}, ${translate}`)
  return off.length
}

const read = (path: string): readonly string[] =>
  existsSync(path) ? readFileSync(path, 'utf8').split('\n').filter(line => line !== '') : []

const corpus = fileURLToPath(new URL('../../../../shared/corpus/', import.meta.url))

/** What a client asks a server of the corpus, and what the server has said to it. */
const linesOf = (folder: string): readonly Line[] => {
  const lines: Line[] = []
  const exchange = (method: string, params: object, response: string) => {
    const { id } = JSON.parse(response) as { readonly id?: number }
    if (id === undefined) return
    lines.push(['client', JSON.stringify({ jsonrpc: '2.0', id, method, params })], ['server', response])
  }
  const [initialized = '{}'] = read(`${folder}/initialize.json`)
  exchange('initialize', {
    protocolVersion: '2025-11-25', clientInfo: { name: 'c', version: '1' },
    capabilities: { roots: {}, sampling: {}, elicitation: {} },
  }, initialized)
  lines.push(['client', '{"jsonrpc":"2.0","method":"notifications/initialized"}'])
  for (const page of read(`${folder}/tools-list.jsonl`)) exchange('tools/list', {}, page)
  for (const line of read(`${folder}/calls.jsonl`)) {
    const { params, response } = JSON.parse(line) as { params: object; response: string | null }
    if (response !== null) exchange('tools/call', params, response)
  }
  return lines
}

const skip = existsSync(corpus) ? false : 'the corpus is not here'

t.test('what the servers of the corpus say passes byte for byte, and none is asked more', { skip }, async t => {
  let frames = 0
  const servers = readdirSync(corpus)
  for (const server of servers) frames += await compare(server, linesOf(corpus + server))
  t.comment(`${frames} frames of ${servers.length} servers`)
  t.ok(frames > 150)
})

t.test('what was captured in both eras passes byte for byte', async t => {
  const folder = fileURLToPath(new URL('../../../test/fixtures/captures/', import.meta.url))
  for (const file of readdirSync(folder)) {
    const lines = read(folder + file).flatMap((line): readonly Line[] => {
      const { event } = JSON.parse(line) as {
        readonly event?: { readonly from?: Side; readonly frame?: { readonly text?: string } }
      }
      const { from, frame: { text } = {} } = event ?? {}
      return from === undefined || text === undefined ? [] : [[from, text]]
    })
    t.ok(await compare(file, lines, false) > 10)
  }
})

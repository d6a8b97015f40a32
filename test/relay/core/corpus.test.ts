import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import type { Verdict } from '#relay/core/vocabulary.js'
import { type Preset, presetPolicy } from '#relay/rules/index.js'
import { checkAtOnce } from './engine.js'
import { initialize, Script } from './script.js'

// What real servers sent lies beside the repository; where it does not, there is nothing to judge.
const corpus = new URL('../../../../shared/corpus/', import.meta.url)
const skip = existsSync(corpus) ? false : 'the corpus is not here'

const lines = (server: string, file: string): readonly string[] => {
  const url = new URL(`${encodeURIComponent(server)}/${file}`, corpus)
  return existsSync(url) ? readFileSync(url, 'utf8').split('\n').filter(line => line !== '') : []
}

interface Message {
  readonly id?: number | string
  readonly result?: { readonly tools?: readonly unknown[]; readonly nextCursor?: string }
}

interface Call {
  readonly params: object
  readonly response: string | null
}

const idOf = (line: string) => (JSON.parse(line) as Message).id

interface Outcome {
  readonly what: string
  readonly verdict: Verdict
  readonly rules: readonly string[]
  readonly tools: number
  readonly isSame: boolean
  /** The same but for output schemas, which clients are not shown where results are mended. */
  readonly isHidden: boolean
}

const withoutOutput = (message: string): unknown =>
  JSON.parse(message, (key, value: unknown) => (key === 'outputSchema' ? undefined : value))

/** What comes of everything that a server sent, under a preset. */
const outcomes = (server: string, preset: Preset): readonly Outcome[] => {
  const { negotiated } = JSON.parse(lines(server, 'meta.json').join('\n')) as { negotiated: string }
  const script = new Script({
    policy: presetPolicy(preset, { purpose: 'relay', locked: false }), checkNow: checkAtOnce,
  })
  const found: Outcome[] = []
  const exchange = (what: string, request: object, response: string) => {
    script.client({ jsonrpc: '2.0', ...request })
    script.entries.length = 0
    script.server(response)
    const sent = script.raw.at(-1)?.bytes ?? ''
    const [entry] = script.entries
    found.push({
      what, verdict: entry?.verdict ?? 'pass',
      rules: entry?.findings.filter(({ mended }) => mended !== undefined).map(({ rule }) => rule) ?? [],
      tools: (JSON.parse(sent) as Message).result?.tools?.length ?? 0, isSame: sent === response.trim(),
      isHidden: isDeepStrictEqual(withoutOutput(sent), withoutOutput(response)),
    })
  }
  const [first] = lines(server, 'initialize.json')
  script.client(initialize(negotiated))
  if (first !== undefined)
    script.server(
      JSON.stringify({ ...(JSON.parse(lines(server, 'initialize.json').join('\n')) as object), id: 0 }),
    )
  let cursor: string | undefined
  for (const [index, line] of lines(server, 'tools-list.jsonl').entries()) {
    exchange(
      `page ${index}`,
      { id: idOf(line), method: 'tools/list', params: { ...(cursor !== undefined && { cursor }) } }, line,
    )
    cursor = (JSON.parse(line) as Message).result?.nextCursor
  }
  for (const [index, line] of lines(server, 'calls.jsonl').entries()) {
    const { params, response } = JSON.parse(line) as Call
    if (response !== null && idOf(response) !== undefined)
      exchange(`call ${index}`, { id: idOf(response), method: 'tools/call', params }, response)
  }
  return found
}

const stops = (verdict: Verdict) => verdict === 'block' || verdict === 'demote'

t.test('nothing that the standard lets pass is blocked where everything is mended', { skip }, t => {
  const mends = new Map<string, number>()
  let frames = 0
  for (const server of readdirSync(corpus)) {
    const compat = outcomes(server, 'compat')
    for (const [index, standard] of outcomes(server, 'standard').entries()) {
      const { what, verdict, rules, tools, isSame, isHidden } = compat[index] ?? standard
      frames++
      for (const rule of new Set(rules)) mends.set(rule, (mends.get(rule) ?? 0) + 1)
      if (stops(verdict) && !stops(standard.verdict)) t.fail(`${server}: ${what} is a ${verdict}`)
      if (tools !== standard.tools) t.fail(`${server}: ${what} has other tools`)
      if (!isSame && !isHidden && verdict === 'pass') t.fail(`${server}: ${what} was changed, and nobody says so`)
    }
  }
  t.comment(`${frames} frames; of them mended ${JSON.stringify([...mends])}`)
  t.ok(frames > 150)
  t.ok((mends.get('tool/dialect') ?? 0) > 10)
  t.end()
})

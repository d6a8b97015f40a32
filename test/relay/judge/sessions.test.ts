import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import type { Checked } from '#relay/core/vocabulary.js'
import { isRecord } from '#relay/protocol/unmetered.js'
import { textOf } from '#relay/protocol/read-fast.js'
import { presetPolicy, type Preset } from '#relay/rules/index.js'
import { createSchemaChecker } from '#relay/schema/index.js'
import { initialize, Script } from '../core/script.js'
import { cases } from '../../e2e/cases/index.js'
import { corpus, limits } from '../schema/ask.js'
import { Random, runs } from './random.js'
import { longAnswer, mutated } from './texts.js'

/**
 * Two sessions that hear the same: in one the results are judged from their bytes, in the other they are
 * parsed.
 */
class Both {
  readonly #judged: Script
  readonly #parsed: Script
  /** Checks of values that were not parsed. */
  unread = 0

  constructor(preset: Preset) {
    const options = { trusted: false, policy: presetPolicy(preset, { purpose: 'relay', locked: false }) }
    this.#parsed =
      new Script({ ...options, judgedBytes: 0, checkNow: subject => atOnce(checkers.parsed.check(subject)) })
    this.#judged = new Script({
      ...options,
      checkNow: subject => {
        if (subject.kind === 'value' && textOf(subject.value) !== undefined) this.unread++
        return atOnce(checkers.judged.check(subject))
      },
    })
  }

  /** Does the same with each, which must do the same. */
  async do(act: (script: Script) => unknown): Promise<void> {
    const told = []
    for (const script of [this.#judged, this.#parsed]) {
      // What a turn may take is not the subject.
      await setImmediate()
      act(script)
      told.push({ recorded: script.entries.splice(0), sent: script.raw.splice(0) })
    }
    assert.deepEqual(told[0], told[1])
  }
}

const checkers = { judged: createSchemaChecker(limits), parsed: createSchemaChecker(limits) }
t.teardown(async () => {
  for (const checker of Object.values(checkers)) await checker.close()
})

/** What takes a thread is left to the script. */
const atOnce = (found: Checked | Promise<Checked>): Checked | undefined =>
  (found instanceof Promise ? undefined : found)

t.test('every case of the rules ends alike, whether results are judged from their bytes or parsed', async t => {
  let unread = 0
  for (const preset of ['standard', 'compat'] as const) {
    for (const { revision, capabilities, tools = [], reactions, steps } of cases) {
      const both = new Both(preset)
      await both.do(script => script.client(initialize(revision, JSON.parse(capabilities) as object)))
      await both.do(script => script.server({ jsonrpc: '2.0', id: 0, result: {
        protocolVersion: revision, capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' },
      } }))
      await both.do(script => script.client({ jsonrpc: '2.0', id: 'list', method: 'tools/list' }))
      await both.do(script =>
        script.server(
          `{"jsonrpc":"2.0","id":"list","result":{"tools":[${tools.map(({ sent }) => sent).join()}]}}`,
        ))
      for (const { send } of steps) {
        await both.do(script => script.client(send))
        const id = /"id":\s*("[^"]*"|[^,}]+)/.exec(send)?.[1] ?? 'null'
        for (const act of reactions.flatMap(({ say }) => say)) {
          if (typeof act === 'string') await both.do(script => script.server(act.replaceAll('$ID', id)))
        }
      }
      unread += both.unread
    }
  }
  t.comment(`${cases.length} cases, ${unread} checks of what was not parsed`)
  t.ok(unread > 50, `${unread} checks of what was not parsed`)
})

const lines = (server: string, file: string): readonly string[] => {
  const url = new URL(`${encodeURIComponent(server)}/${file}`, corpus)
  return existsSync(url) ? readFileSync(url, 'utf8').split('\n').filter(Boolean) : []
}

const idOf = (line: string): unknown => {
  const value: unknown = JSON.parse(line)
  return isRecord(value) ? value['id'] : undefined
}

t.test('so does all that real servers said, whole and with something changed', {
  skip: existsSync(corpus) ? false : 'the corpus is not here',
}, async t => {
  const random = new Random(4)
  let [answers, unread] = [0, 0]
  for (const server of readdirSync(corpus)) {
    const both = new Both('standard')
    await both.do(script => script.begin([]))
    for (const line of lines(server, 'tools-list.jsonl')) {
      await both.do(script => script.client({ jsonrpc: '2.0', id: idOf(line), method: 'tools/list' }))
      await both.do(script => script.server(line))
    }
    for (const line of lines(server, 'calls.jsonl')) {
      const { params, response } = JSON.parse(line) as { params: object; response: string | null }
      if (response === null || idOf(response) === undefined) continue
      const changes = response.includes('"structuredContent"') ? Math.ceil(runs(600) / 600) : 0
      const responses = [
        response, ...Array.from({ length: changes }, () => mutated(Buffer.from(response), random).toString()),
      ]
      for (const one of responses) {
        answers++
        await both.do(script =>
          script.client({ jsonrpc: '2.0', id: idOf(response), method: 'tools/call', params }))
        await both.do(script => script.server(one))
      }
    }
    unread += both.unread
  }
  t.comment(`${answers} answers, ${unread} checks of what was not parsed`)
  t.ok(unread > 50, `${unread} checks of what was not parsed`)
})

t.test('so do long strings: texts, pictures and resources, right and wrong', async t => {
  const random = new Random(12)
  const wrong = (answer: string): string => answer.replace(/x{3,}/, random.of('x!', 'é', '\u200b', '=', 'xx'))
  for (const preset of ['standard', 'strict', 'compat'] as const) {
    const both = new Both(preset)
    await both.do(script => script.begin([{ name: 'a', inputSchema: { type: 'object' } }]))
    for (let id = 100; id < 100 + runs(120) / 3; id++) {
      const right = longAnswer(random).replace('"id":1', `"id":${id}`)
      const answer = random.once(2) ? wrong(right) : right
      const call = { jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'a', arguments: {} } }
      await both.do(script => script.client(call))
      await both.do(script => script.server(answer))
    }
  }
  t.end()
})

t.test('so do pictures that are not ASCII, and more texts than are compared', async () => {
  const texts = Array.from({ length: 5003 }, (_, index) => (index < 4 ? '{"a":1}' : '{"b":2}'))
  const blocks = texts.map(text => ({ type: 'text', text }))
  const picture = { type: 'image', mimeType: 'image/png', data: 'é'.repeat(20) + 'QUJD'.repeat(6000) }
  const both = new Both('standard')
  await both.do(script => script.begin([{ name: 'a', inputSchema: { type: 'object' } }]))
  const results = [{ content: [picture] }, { content: blocks, structuredContent: { a: 1 } }]
  for (const [id, result] of results.entries()) {
    const call = { jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'a', arguments: {} } }
    await both.do(script => script.client(call))
    await both.do(script => script.server({ jsonrpc: '2.0', id, result }))
  }
})

import type { Exchange } from '#relay/core/vocabulary.js'
import { exchangeNamed, stdioExchange } from '#relay/core/event.js'
import { type Answers, Merged, RpcError, serverWith, tool, type Message } from './harness.js'

/** Chance from a seed (mulberry32). */
const chanceOf = (seed: number) => {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  return { below: (bound: number) => Math.floor(next() * bound), is: (part: number) => next() < part }
}

interface Held {
  readonly leg: string
  readonly id: unknown
  readonly result: unknown
}

/**
 * One random history of a client and two to five servers: they answer at once, late, never, with errors; die,
 * change their lists, ask, cancel.
 * @returns what was broken; undefined: nothing
 */
export const historyOf = (seed: number, steps = 60): string | undefined => {
  const { below, is } = chanceOf(seed)
  const isModern = is(0.3)
  const names = ['a', 'a__b', 'c', 'd.e', 'f'].slice(0, 2 + below(4))
  const tools = new Map(names.map(name => [name, [tool('x'), tool('b__y'), tool('y')]]))
  const held: Held[] = []
  const dead = new Set<string>()
  const received = new Map<string, string>()
  const hold = (leg: string, id: unknown, result: unknown): unknown => {
    if (dead.has(leg) || is(0.05)) return undefined
    if (is(0.3)) {
      held.push({ leg, id, result })
      return undefined
    }
    return is(0.03) ? new RpcError(-32000, 'failed') : result
  }
  const merged = new Merged(Object.fromEntries(names.map(name => [name, serverOf(name)])), {
    isStateless: isModern, hasExchanges: isModern, listMs: 500,
  })
  function serverOf(leg: string): Answers {
    const base = serverWith(leg, { resources: [{ uri: 'x://shared' }, { uri: `x://${leg}` }] })
    const answers: Answers = {
      ...base, 'tools/list': () => ({ tools: tools.get(leg) }),
      'server/discover': () => ({ capabilities: { tools: {}, resources: {} } }),
    }
    const methods = Object.entries(answers)
    return Object.fromEntries(methods.map(([method, answer]) => [method, (params, message) => {
      if (method === 'tools/call') {
        const { token } = (params['arguments'] ?? {}) as { token?: string }
        received.set(String(token), `${leg} ${String(params['name'])}`)
        return hold(leg, message['id'], { content: [{ type: 'text', text: String(token) }] })
      }
      return hold(leg, message['id'], answer(params, message))
    }] satisfies [string, Answers[string]]))
  }
  interface Call { readonly exchange: Exchange; readonly shown?: string; isCancelled: boolean }
  const asked = new Map<string, Call>()
  let last = 0
  const meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {} }
  const ask = (method: string, params: object, shown?: string): void => {
    const id = `q${(last += 1)}`
    const exchange = isModern ? exchangeNamed(`http-${id}`) : stdioExchange
    asked.set(id, { exchange, isCancelled: false, ...(shown !== undefined && { shown }) })
    merged.fromClient({ jsonrpc: '2.0', id, method, params: { ...params, ...(isModern && { _meta: meta }) } }, exchange)
  }
  if (!isModern) {
    merged.ask('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 't', version: '1' } }, 'init')
    merged.advance(1000)
    if (merged.responseTo('init') === undefined) return 'initialize was not answered in a second'
    merged.fromClient({ jsonrpc: '2.0', method: 'notifications/initialized' })
  }
  const questions = new Map<string, string>()
  const shownNames = () => names.flatMap(name => ['x', 'b__y', 'y'].map(one => `${name.replace(/[^\w-]/g, '_')}__${one}`))
  const pick = <One>(list: readonly One[]): One | undefined => list[below(list.length)]
  for (let step = 0; step < steps; step += 1) {
    const leg = pick(names) ?? 'a'
    switch (below(12)) {
      case 0: case 1: case 2: {
        const shown = pick([...shownNames(), 'unknown']) ?? ''
        ask('tools/call', { name: shown, arguments: { token: `q${last + 1}` } }, shown)
        break
      }
      case 3: ask('tools/list', {}); break
      case 4: ask(is(0.5) ? 'resources/list' : 'prompts/list', {}); break
      case 5: ask('resources/read', { uri: is(0.5) ? `x://${leg}` : 'x://nobody' }); break
      case 6: {
        const one = held.splice(below(Math.max(1, held.length)), 1)[0]
        if (one !== undefined && !dead.has(one.leg)) merged.answer(one.leg, one.id, one.result)
        break
      }
      case 7: {
        if (is(0.4)) {
          held.splice(0, held.length, ...held.filter(one => one.leg !== leg))
          merged.ended(leg)
        } else if (is(0.3)) dead.add(leg)
        else dead.delete(leg)
        break
      }
      case 8:
        tools.set(leg, is(0.5) ? [tool('x')] : [tool('x'), tool('b__y'), tool('y')])
        merged.fromServer(leg, { jsonrpc: '2.0', method: 'notifications/tools/list_changed' })
        break
      case 9: {
        if (isModern) break
        const text = `${leg} ${step}`
        merged.fromServer(leg, { jsonrpc: '2.0', id: 1, method: 'elicitation/create', params: { message: text } })
        const question = merged.client.at(-1)
        if (question?.['method'] !== 'elicitation/create') return `step ${step}: the question did not reach the client`
        if (questions.has(JSON.stringify(question['id']))) return `step ${step}: two open questions have one id`
        questions.set(JSON.stringify(question['id']), leg)
        break
      }
      case 10: {
        const [id, of] = pick([...questions]) ?? []
        if (id === undefined) break
        questions.delete(id)
        const before = merged.sent.length
        merged.fromClient({ jsonrpc: '2.0', id: JSON.parse(id) as unknown, result: { action: 'accept', content: { to: of } } })
        const wrong = merged.sent.slice(before).find(({ leg: to, message }) => message['result'] !== undefined && to !== of)
        if (wrong !== undefined) return `step ${step}: the answer to ${String(of)} went to ${wrong.leg}`
        break
      }
      default: {
        const [id, one] = pick([...asked].filter(([key]) => merged.responseTo(key) === undefined)) ?? []
        if (id === undefined || one === undefined || !is(0.2)) {
          merged.advance(below(400))
          break
        }
        one.isCancelled = true
        if (isModern) merged.left(one.exchange)
        else merged.fromClient({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } })
      }
    }
  }
  // Servers that hold an answer back give it; those that never will have died.
  for (const name of names) merged.ended(name)
  merged.advance(2000)
  return brokenBy(merged, asked, received)
}

const brokenBy = (
  merged: Merged, asked: ReadonlyMap<string, { readonly shown?: string; readonly isCancelled: boolean }>,
  received: ReadonlyMap<string, string>,
): string | undefined => {
  for (const [id, { shown, isCancelled }] of asked) {
    const answers = merged.client.filter((message: Message) => message['id'] === id && message['method'] === undefined)
    if (answers.length > 1) return `${id} has ${answers.length} answers`
    if (answers.length === 0 && !isCancelled) return `${id} has no answer`
    const to = received.get(id)
    if (to === undefined || shown === undefined) continue
    const [leg = '', name = ''] = to.split(' ')
    if (`${leg}__${name}` !== shown && `${leg.replace('.', '_')}__${name}` !== shown) return `${shown} went to ${to}`
  }
  return merged.merger.isAwaited ? 'the merger waits for something that nobody asked for' : undefined
}

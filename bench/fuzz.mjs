// Frames of every kind, from both sides, through the relay and the shared process: node bench/fuzz.mjs [--frames N] [--seed N]
// No exception may leave a flow, and JSON.parse and Python's json must read alike whatever leaves. The first failure is reduced and printed.
import { spawnSync } from 'node:child_process'
import { setImmediate } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { Relay } from '../dist/relay/core/relay.js'
import { exchangeNamed, stdioExchange } from '../dist/relay/core/event.js'
import { parseFrame } from '../dist/relay/protocol/parse.js'
import { presetPolicy, rules } from '../dist/relay/rules/index.js'
import { SharedServer } from '../dist/relay/transport/one-process/server.js'

const { values } = parseArgs({ options: { frames: { type: 'string', default: '1000000' }, seed: { type: 'string', default: String(Date.now() % 2 ** 32) } } })
const [frames, seed] = [Number(values.frames), Number(values.seed)]
const limits = { messageBytes: 1 << 20, depth: 64 }

let state = seed >>> 0
const random = most => {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0
  return Math.floor((state / 2 ** 32) * most)
}
const pick = list => list[random(list.length)]

const ids = ['0', '1', '2', '3', '-0', '-1', '1.0', '1e0', '10E-1', '1.5', '9007199254740993', '12345678901234567890', '1e400', '01', '00', '-00', '01.5', '1.', '+1', '-', '0x1', '""', '"a"', '"1"', '"1.0"', '"\\u0061"', '"\\ud800"', '"\\x"', '"', 'null', 'true', '{}', '[1]', '"é😀"']
const revisions = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28']
const methods = ['initialize', 'ping', 'tools/list', 'tools/call', 'prompts/get', 'prompts/list', 'resources/read', 'resources/list', 'tasks/get', 'tasks/result', 'server/discover', 'subscriptions/listen', 'sampling/createMessage', 'elicitation/create', 'roots/list', 'x/y', '__proto__']
const notes = ['initialized', 'cancelled', 'progress', 'message', 'tools/list_changed', 'tasks', 'tasks/status']
const leaf = () => pick([...ids, 'false', '1e-400', '0.1', '"x y"', '"\\r\\u200b"', '"{\\"a\\":1}"', '[]', '"text"', '"https:u:p@h"'])
const key = () => pick(['a', 'type', 'Type', 'text', 'content', 'id', 'name', 'result', '_meta', '__proto__', 'constructor', 'a b', 'structuredContent', 'taskId', 'action'])
const value = depth => {
  if (depth === 0 || random(3) === 0) return leaf()
  const parts = Array.from({ length: random(4) }, () => value(depth - 1))
  return random(2) === 0 ? `[${parts.join()}]` : `{${parts.map(part => `"${key()}":${part}`).join()}}`
}
const tool = () => `{"name":${pick(['"w"', '"w"', leaf()])},"inputSchema":${pick(['{"type":"object"}', value(2)])},"outputSchema":${pick(['{"type":"object"}', value(2)])}}`
const meta = () => `"_meta":{"io.modelcontextprotocol/protocolVersion":"${pick(revisions)}","io.modelcontextprotocol/clientCapabilities":{},"progressToken":${leaf()}}`
const result = () => pick([
  () => `{"content":[{"type":"text","text":${leaf()}}],"structuredContent":${value(3)}}`, () => `{"tools":[${tool()},${tool()}]}`,
  () => `{"protocolVersion":"${pick(revisions)}","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}`,
  () => `{"resultType":"input_required","inputRequests":${value(3)}}`, () => `{"taskId":${leaf()},"status":"completed","result":${value(2)}}`, () => value(3),
])()
const params = () => pick([
  () => `{"name":"w","arguments":${value(2)},${meta()}}`, () => `{${meta()}}`, () => `{"requestId":${leaf()},"progressToken":${leaf()},"taskId":${leaf()},"_meta":{"io.modelcontextprotocol/subscriptionId":${leaf()}}}`,
  () => `{"protocolVersion":"${pick(revisions)}","capabilities":${value(1)},"clientInfo":{"name":"c","version":"1"}}`, () => value(3),
])()
const message = () => {
  const id = `"id":${pick(ids)}`
  const parts = ['"jsonrpc":"2.0"', ...pick([
    () => [id, `"method":"${pick(methods)}"`, `"params":${params()}`], () => [id, `"result":${result()}`],
    () => [id, `"error":{"code":${pick(['1', '-32042', leaf()])},"message":${pick(['"m"', leaf()])},"data":${value(2)}}`],
    () => [`"method":"notifications/${pick(notes)}"`, `"params":${params()}`], () => [id, id.replace('id', pick(['id', 'ID', 'Id'])), `"result":${result()}`], () => [value(2).replaceAll(':', ',')],
  ])()]
  if (random(3) === 0) parts.reverse()
  const text = `{${parts.join(pick([',', ',', ' , ', ',\r\n']))}}`
  return random(20) === 0 ? text.slice(0, random(text.length)) : text
}
const frame = () => (random(10) === 0 ? `[${Array.from({ length: random(4) }, message).join()}]` : message())
const made = length => Array.from({ length }, () => ({ from: pick(['client', 'server']), exchange: random(3), text: frame() }))

/** What leaves: only of a relay that blocks what readers take differently. */
const throughRelay = (stateless, script) => {
  const exchanges = stateless ? [exchangeNamed('a'), exchangeNamed('b'), exchangeNamed('c')] : [stdioExchange, stdioExchange, stdioExchange]
  const policy = presetPolicy('standard', { purpose: 'relay', locked: false })
  const relay = new Relay({ judgement: { server: 's', ruling: { policy, tools: new Map() }, rules, trusted: false, limits: { listMs: 1000, requestMs: 0, tools: 5000 }, intent: false }, session: 's', nonce: 'n', stateless, checkNow: () => [] })
  const left = []
  const happens = event => {
    for (const effect of relay.handle(event, 0)) {
      if (effect.type === 'send') left.push(effect.frame.bytes.toString())
      else if (effect.type === 'failed' || (effect.type === 'close' && effect.cause !== undefined)) throw effect.cause
      else if (effect.type === 'check') happens({ type: 'checked', check: effect.check, results: effect.subjects.map(() => []) })
    }
  }
  for (const { from, exchange, text } of script) happens({ type: 'frame-received', from, exchange: exchanges[exchange], frame: parseFrame(Buffer.from(text), limits) })
  happens({ type: 'session-ended', reason: 'the end' })
  return left
}

const throughShared = script => {
  let hear = () => undefined
  const child = { start: one => (hear = one), send: () => true, pause() {}, resume() {}, close: () => Promise.resolve() }
  const shared = new SharedServer({ make: () => child, timers: { after: () => () => undefined }, now: () => 0, random: () => 0 })
  const ports = [0, 1, 2].map(() => shared.connect())
  for (const port of ports) port.start(() => undefined)
  for (const { from, exchange, text } of script) {
    const read = parseFrame(Buffer.from(text), limits)
    if (from === 'client') ports[exchange].send(exchangeNamed('one'), read)
    else hear({ type: 'frame', exchange: stdioExchange, frame: read })
  }
  return []
}

const targets = { session: script => throughRelay(false, script), stateless: script => throughRelay(true, script), shared: throughShared }

const reader = `
import json, sys
def pairs(items):
    if len(dict(items)) < len(items): raise ValueError('the same key twice')
    return dict(items)
def no(text): raise ValueError(text)
def plain(value):
    if isinstance(value, list): return [plain(one) for one in value]
    if isinstance(value, dict): return {name: plain(one) for name, one in value.items()}
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value
for line in sys.stdin:
    number, text, read = json.loads(line)
    try:
        if plain(json.loads(text, object_pairs_hook=pairs, parse_constant=no)) != plain(json.loads(read)): print(number, 'is read otherwise')
    except ValueError as error: print(number, error)
`
/** @returns what is wrong with the first text that two readers read differently */
const compared = texts => {
  const lines = texts.map((text, number) => JSON.stringify([number, text, JSON.stringify(JSON.parse(text))]))
  const { stdout, error } = spawnSync('python3', ['-c', reader], { input: lines.join('\n'), encoding: 'utf8', maxBuffer: 1 << 28 })
  if (error !== undefined) return undefined
  const [first] = stdout.split('\n')
  return first === '' ? undefined : `${first}: ${texts[Number(first.split(' ')[0])]}`
}

const faultOf = (target, script, compares) => {
  try {
    const left = targets[target](script)
    for (const text of left) JSON.parse(text)
    return compares ? compared(left) : undefined
  } catch (error) {
    return error instanceof Error ? error.stack : String(error)
  }
}

const fail = (target, script, compares) => {
  for (let index = 0; index < script.length; index++) {
    const less = script.filter((_, other) => other !== index)
    if (faultOf(target, less, compares) !== undefined) [script, index] = [less, -1]
  }
  console.log(`seed ${seed}, ${target}: ${faultOf(target, script, compares)}`)
  for (const { from, exchange, text } of script) console.log(`${from} ${exchange} ${text}`)
  process.exit(1)
}

let [done, texts] = [0, 0]
let waiting = []
const compareAll = () => {
  if (compared(waiting.flatMap(({ left }) => left)) !== undefined) for (const { target, script } of waiting) if (faultOf(target, script, true)) fail(target, script, true)
  waiting = []
}
console.log(`seed ${seed}`)
while (done < frames) {
  const script = made(1 + random(30))
  for (const target of Object.keys(targets)) {
    if (faultOf(target, script, false) !== undefined) fail(target, script, false)
    const left = targets[target](script)
    texts += left.length
    waiting.push({ target, script, left })
    done += script.length
  }
  if (waiting.length >= 6000) compareAll()
  await setImmediate()
}
compareAll()
console.log(`${done} frames, ${texts} texts left: no exception, and all are read alike`)
process.exit(0)

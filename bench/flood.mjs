// What the cheapest elements cost, wherever an array, an object or a string may stand in a message, sent by either side:
// node --expose-gc bench/flood.mjs [CASES] [SEED]
// Two sessions share the process: one hears the flood, the other asks for a ping meanwhile. A case fails when a turn of the event loop takes
// more than 250 ms of CPU, the heap grows by 200 MB, the ping waits 500 ms, a request has not exactly one answer, or a record has 64 KB.
import { readFileSync } from 'node:fs'
import { openSession } from '../dist/relay/session/open.js'
import { stdioExchange } from '../dist/relay/core/event.js'
import { parseFrame, readFrame } from '../dist/relay/protocol/parse.js'
import { createSchemaChecker } from '../dist/relay/schema/index.js'
import { presetPolicy, rules } from '../dist/relay/rules/index.js'
import { acceptedOfLock } from '../dist/relay/lock/accepted.js'
import { standardActions } from '../dist/relay/lock/decide.js'
import { emptyOffer, single } from '../dist/relay/lock/offer.js'

const [count, seed] = [Number(process.argv[2] ?? 400), Number(process.argv[3] ?? 1)]
const limits = { messageBytes: 16 << 20, depth: 128, schemaBytes: 262144, schemaDepth: 64, subschemas: 5000, validationMs: 100, tools: 5000, listMs: 10_000, requestMs: 0 }
const bounds = { turnMs: 250, heapMb: 200, neighbourMs: 500, recordBytes: 65_536 }

let state = seed
const random = most => {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0
  return Math.floor((state / 2 ** 32) * most)
}
const pick = list => list[random(list.length)]

/** JSON texts of about so many bytes, each made of one element. */
const list = element => bytes => `[${Array.from({ length: Math.floor(bytes / (element.length + 1)) }, () => element).join()}]`
const object = (member, width) => bytes => `{${Array.from({ length: Math.floor(bytes / width) }, (_, index) => member(index)).join()}}`
const floods = {
  zeros: list('0'), objects: list('{}'), strings: list('""'), arrays: list('[]'), nulls: list('null'), accents: list('"é"'),
  blocks: list('{"type":"text","text":""}'), named: list('{"name":"a"}'), requests: list('{"method":"roots/list"}'), urls: list('{"src":"javascript:0"}'),
  'nested arrays': list(`${'['.repeat(60)}${']'.repeat(60)}`), 'short keys': object(index => `"${index.toString(36)}":0`, 8),
  'null members': object(index => `"${index.toString(36)}":null`, 11), 'one key': object(() => '"a":0', 6), 'long keys': object(index => `"${'k'.repeat(200_000)}${index}":0`, 200_010),
  'cased keys': object(index => `"Type${index.toString(36)}":0`, 13), 'a string': bytes => JSON.stringify('x'.repeat(bytes)), 'a string of joiners': bytes => JSON.stringify('\u0646\u200c'.repeat(bytes / 5)),
  'an emoji text': bytes => JSON.stringify('👩‍💻'.repeat(bytes / 11)), 'carriage returns': bytes => JSON.stringify('\r'.repeat(bytes / 2)), 'JSON in a string': bytes => JSON.stringify(list('0')(bytes)),
}

/** The text of a message with the flood at a place of it. */
const mark = '@flood@'
const written = (message, way, text) => {
  const put = (value, [step, ...rest]) => {
    if (step === undefined) return mark
    if (typeof step === 'object') return put({ ...value, ...step }, rest)
    if (typeof step === 'number') return [put(Array.isArray(value) ? value[0] : undefined, rest)]
    return { ...value, [step]: put(value?.[step], rest) }
  }
  return JSON.stringify(put(message, way)).replace(`"${mark}"`, () => text)
}

const positions = JSON.parse(readFileSync(new URL('../test/relay/protocol/positions.json', import.meta.url), 'utf8'))
const params = {
  'tools/call': { name: 'rows', arguments: {} }, 'prompts/get': { name: 'p' }, 'resources/read': { uri: 'file:///a' }, 'tasks/get': { taskId: 't' }, 'tasks/result': { taskId: 't' },
}
const modern = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {}, 'io.modelcontextprotocol/clientInfo': { name: 'c', version: '1' } }

/** Every prefix of every place, and the whole of each part. */
const cases = Object.entries(positions).flatMap(([revision, those]) => {
  const ways = new Map()
  for (const [method, part, , way] of those) for (let to = 0; to <= way.length; to++) ways.set(JSON.stringify([method, part, way.slice(0, to)]), [method, part, way.slice(0, to)])
  for (const [method] of those) for (const key of ['arguments', 'inputResponses', '_meta', 'capabilities', 'cursor']) ways.set(`${method} ${key}`, [method, 'asked', [key]])
  for (const part of ['structuredContent', 'inputRequests', 'task', '_meta', 'result']) ways.set(part, ['tools/call', 'result', [part]])
  return [...ways.values()].map(way => [revision, ...way])
})

class End {
  sent = []
  start(hear) { this.hear = hear }
  send(_, frame) {
    this.sent.push(frame)
    const { message } = frame
    // A list that the relay asks for itself is answered.
    if (message.kind === 'request' && message.method === 'tools/list' && message.id !== 'list') setImmediate(() => tell(this, { id: message.id, result: { resultType: 'complete', ...listed } }))
    return true
  }
  pause() {}
  resume() {}
  close() { return Promise.resolve() }
}

const offered = { ...emptyOffer, instructions: single('said'), prompts: new Map([['a', { name: 'a' }]]) }
const settings = { isFrozen: false, isTrusted: true }
const locked = acceptedOfLock('flood', { identity: {}, acceptedBy: 'person', offers: { legacy: offered, modern: offered } }, standardActions, settings)
const checker = createSchemaChecker(limits)
let largest = 0
const open = (preset, isLocked) => {
  const [client, server] = [new End(), new End()]
  const guard = {
    judgement: {
      server: 'flood', rules, trusted: false, limits, intent: false, accepted: isLocked ? locked : undefined,
      ruling: { policy: presetPolicy(preset, { purpose: 'relay', locked: isLocked }), tools: new Map() },
    },
    checker,
    audit: entry => void (largest = Math.max(largest, JSON.stringify({ ...entry, arguments: undefined, result: undefined }).length)),
  }
  openSession(guard, client, () => server).start()
  return { client, server, failed: undefined }
}
const json = value => Buffer.from(JSON.stringify({ jsonrpc: '2.0', ...value }))
const turn = () => new Promise(resolve => setImmediate(resolve))

/** As a transport reads: in pieces, other sessions' turns between them. */
const hear = async (end, bytes) => {
  const reading = readFrame(bytes, limits)
  if ('bytes' in reading) return end.hear({ type: 'frame', exchange: stdioExchange, frame: reading })
  for (let step = reading.next(); ; step = reading.next()) {
    if (step.done) return end.hear({ type: 'frame', exchange: stdioExchange, frame: step.value })
    await turn()
  }
}
const tell = (end, value) => end.hear({ type: 'frame', exchange: stdioExchange, frame: parseFrame(json(value), limits) })

const listed = { tools: [{ name: 'rows', inputSchema: { type: 'object' }, outputSchema: { type: 'object' } }] }

const begin = ({ client, server }, revision) => {
  tell(client, { id: 0, method: 'initialize', params: { protocolVersion: revision, capabilities: {}, clientInfo: { name: 'c', version: '1' } } })
  tell(server, { id: 0, result: { protocolVersion: revision, capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } } })
  tell(client, { id: 'list', method: 'tools/list' })
  tell(server, { id: 'list', result: listed })
}

const run = async ([revision, method, part, way], flood, bytes, preset, isLocked) => {
  const [session, other] = [open(preset, isLocked), open('standard', false)]
  const isModern = revision === '2026-07-28'
  if (!isModern) begin(session, revision)
  begin(other, '2025-11-25')
  await turn()
  const text = floods[flood](bytes)
  const meta = isModern ? { _meta: modern } : {}
  const asked = { jsonrpc: '2.0', id: 7, method: method === '' ? 'ping' : method, params: { ...params[method], ...meta } }
  const isNotice = method.startsWith('notifications/')
  globalThis.gc?.()
  const heap = process.memoryUsage().heapUsed
  let [longest, peak, waited] = [0, 0, 0]
  let over = false
  const watch = (async () => {
    for (let cpu = process.cpuUsage(), at = performance.now(); !over; cpu = process.cpuUsage(), at = performance.now()) {
      const before = other.client.sent.length
      tell(other.client, { id: 'p', method: 'ping' })
      tell(other.server, { id: 'p', result: {} })
      let turns = 1
      await turn()
      for (; other.client.sent.length === before; turns++) await turn()
      // On a busy machine the time on the clock is not ours.
      const used = process.cpuUsage(cpu)
      const ms = Math.min(performance.now() - at, (used.user + used.system) / 1000)
      waited = Math.max(waited, ms)
      longest = Math.max(longest, ms / turns)
      peak = Math.max(peak, process.memoryUsage().heapUsed - heap)
    }
  })()
  const answers = () => session.client.sent.filter(({ message }) => 'id' in message && message.id === 7 && message.kind !== 'request').length
  if (part === 'asked' || (part === 'params' && !isNotice && !['sampling/createMessage', 'elicitation/create', 'roots/list'].includes(method))) {
    await hear(session.client, Buffer.from(written(asked, ['params', ...way], text)))
    if (!isNotice) await settled(session, () => session.server.sent.some(({ message }) => message.kind === 'request' && message.id === 7) || answers() > 0)
    if (answers() === 0 && !isNotice) tell(session.server, { id: 7, result: {} })
  } else if (part === 'params') {
    await hear(session.server, Buffer.from(written(isNotice ? { jsonrpc: '2.0', method, params: {} } : { jsonrpc: '2.0', id: 8, method, params: {} }, ['params', ...way], text)))
  } else {
    tell(session.client, asked)
    await settled(session, () => session.server.sent.some(({ message }) => message.id === 7) || answers() > 0)
    const base = part === 'error' ? { error: { code: -32042, message: 'm' } } : { result: {} }
    await hear(session.server, Buffer.from(written({ jsonrpc: '2.0', id: 7, ...base }, [part, ...way], text)))
  }
  const owed = (part !== 'params' || !['sampling/createMessage', 'elicitation/create', 'roots/list'].includes(method)) && !isNotice
  await settled(session, () => !owed || answers() > 0)
  for (let more = 0; more < 20; more++) await turn()
  over = true
  await watch
  const faults = []
  if (longest > bounds.turnMs) faults.push(`a turn of ${Math.round(longest)} ms`)
  if (peak > bounds.heapMb * 2 ** 20) faults.push(`${Math.round(peak / 2 ** 20)} MB of heap`)
  if (waited > bounds.neighbourMs) faults.push(`the neighbour waited ${Math.round(waited)} ms`)
  if (owed && answers() !== 1) faults.push(`${answers()} answers`)
  if (largest > bounds.recordBytes) faults.push(`a record of ${largest} bytes`)
  for (const { client, server } of [session, other]) {
    server.hear({ type: 'ended', reason: 'over' })
    client.hear({ type: 'ended', reason: 'over' })
  }
  largest = 0
  return { longest, peak, waited, faults }
}

/** Waits for at most some seconds. */
const settled = async (_, isDone) => {
  for (const until = performance.now() + 30_000; !isDone() && performance.now() < until;) await turn()
}

const worst = { longest: [0], peak: [0], waited: [0] }
let failed = 0
for (let index = 0; index < count; index++) {
  const [place, flood] = [pick(cases), pick(Object.keys(floods))]
  const [bytes, preset, isLocked] = [pick([1, 1, 4, 15]) * 2 ** 20, pick(['standard', 'strict', 'compat']), pick([true, false])]
  const title = `${place[0]} ${place[1]} ${place[2]} ${JSON.stringify(place[3])}: ${bytes >> 20} MB of ${flood}, ${preset}${isLocked ? ', locked' : ''}`
  let { faults, ...figures } = await run(place, flood, bytes, preset, isLocked)
  // What else the machine does can cost as much: the best of three.
  for (let again = 0; again < 2 && faults.length > 0; again++) ({ faults, ...figures } = await run(place, flood, bytes, preset, isLocked))
  for (const [name, value] of Object.entries(figures)) if (value > worst[name][0]) worst[name] = [value, title]
  if (faults.length > 0) console.log(`${++failed}. ${title}: ${faults.join(', ')}`)
}
console.log(`${count} cases (seed ${seed}), ${failed} over the bounds`)
console.log(`the longest turn: ${Math.round(worst.longest[0])} ms (${worst.longest[1]})`)
console.log(`the most heap: ${Math.round(worst.peak[0] / 2 ** 20)} MB (${worst.peak[1]})`)
console.log(`the longest wait of the neighbour: ${Math.round(worst.waited[0])} ms (${worst.waited[1]})`)
await checker.close()
process.exit(failed === 0 ? 0 : 1)

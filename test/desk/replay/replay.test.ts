import t from 'tap'
import { compare } from '#desk/replay/compare.js'
import { parseLine, type CaptureLine } from '#relay/capture/line.js'
import { sessionsIn } from '#relay/capture/read.js'
import { CaptureRecorder } from '#relay/capture/recorder.js'
import { recorded, replayed } from '#desk/replay/replay.js'
import type { Action, Checked, Event, Subject } from '#relay/core/vocabulary.js'
import { stdioExchange } from '#relay/core/event.js'
import { Relay } from '#relay/core/relay.js'
import { defaultLimits } from '#relay/config/configuration.js'
import { parseFrame } from '#relay/protocol/parse.js'
import { presetPolicy, type RuleName } from '#relay/rules/index.js'
import { createSchemaChecker } from '#relay/schema/index.js'
import { judgementOf } from '../../judgement.js'

const limits = defaultLimits
const policyWith = (changes: Readonly<Partial<Record<RuleName, Action>>> = {}) =>
  new Map([
    ...presetPolicy('standard', { purpose: 'relay', locked: false }),
    ...(Object.entries(changes) as [RuleName, Action][]),
  ])

const tool = {
  name: 'a', inputSchema: { type: 'object', properties: { n: { type: 'number' } } },
  outputSchema: { type: 'object', properties: { n: { type: 'number' } } },
}
const heard = (from: 'client' | 'server', message: object): Event =>
  ({
    type: 'frame-received', from, exchange: stdioExchange,
    frame: parseFrame(Buffer.from(JSON.stringify({ jsonrpc: '2.0', ...message })), limits),
  })
const called = (id: number, given: object) =>
  heard('client', { id, method: 'tools/call', params: { name: 'a', arguments: given } })
const answered = (id: number, n: unknown) => heard(
  'server',
  { id, result: { content: [{ type: 'text', text: JSON.stringify({ n }) }], structuredContent: { n } } },
)
const listed = [
  heard('client', { id: 0, method: 'tools/list' }), heard('server', { id: 0, result: { tools: [tool] } }),
]
const ended: Event = { type: 'session-ended', reason: 'over' }

/**
 * A session as a relay lived it.
 * @param late the engine answers when it is told to: by an event that has no frame
 */
const captured = async (
  events: readonly (Event | 'strict from here')[], changes: Parameters<typeof policyWith>[0] = {},
  late = false,
) => {
  const lines: CaptureLine[] = []
  const checker = createSchemaChecker(limits)
  const rulingWith = (changed: typeof changes) => judgementOf({ policy: policyWith(changed) }).ruling
  let ruling = rulingWith(changes)
  const options = {
    session: 'session', nonce: 'nonce', stateless: false,
    judgement: { ...judgementOf({ server: 's' }), get ruling() { return ruling } },
    checkNow: (subject: Subject): Checked | undefined => {
      const checked = late ? undefined : checker.check(subject)
      recorder.asked(!Array.isArray(checked))
      return Array.isArray(checked) ? checked : undefined
    },
  }
  const recorder = new CaptureRecorder(options, {
    payloads: 'full', limits, write: line => lines.push(parseLine(JSON.stringify(line)) ?? line),
    now: () => new Date(0),
  })
  const relay = new Relay(options)
  let now = 0
  const handle = (event: Event) => {
    const effects = relay.handle(event, ++now)
    recorder.handled(event, now, effects)
    return effects
  }
  for (const event of events) {
    if (event === 'strict from here') {
      ruling = rulingWith({ 'call/arguments': 'block' })
      continue
    }
    const effects = handle(event)
    for (const effect of effects) {
      if (effect.type === 'check') {
        handle({
          type: 'checked', check: effect.check,
          results: await Promise.all(effect.subjects.map(async subject => checker.check(subject))),
        })
      }
    }
  }
  await checker.close()
  const [session] = [...sessionsIn(lines)]
  if (session === undefined) throw new Error('no session')
  return session
}

const again = async (
  session: Awaited<ReturnType<typeof captured>>, changes: Parameters<typeof policyWith>[0] = {},
) => {
  const checker = createSchemaChecker(limits)
  const was = recorded(session, limits)
  const would = await replayed(session, was, {
    ruling: () => ({ policy: policyWith(changes), tools: new Map() }), judgement: judgementOf({ server: 's' }), limits, checker,
  })
  await checker.close()
  return { ...compare('session', was, would), would }
}

t.test('by the same settings it is what it was, whenever the engine answered', async t => {
  for (const late of [false, true]) {
    const session = await captured([
      ...listed, called(1, { n: 1 }), answered(1, 2), called(2, { n: 'x' }), answered(2, 'y'), answered(9, 1),
      ended,
    ], {}, late)
    const { same, changes, rewritten } = await again(session)
    t.strictSame({ same, changes, rewritten }, { same: true, changes: [], rewritten: [] })
    t.ok(session.events.some(({ checks }) => checks !== undefined) === late)
  }
})

t.test('settings that change while a session runs are kept with the event from which they held', async t => {
  const session = await captured([
    ...listed, called(1, { n: 'x' }), answered(1, 1), 'strict from here', called(2, { n: 'x' }), ended,
  ])
  t.strictSame(session.events.flatMap(
    ({ number, ruling }) => (ruling === undefined ? [] : [[number, ruling.policy['call/arguments']]]),
  ), [[4, 'block']])
  const checker = createSchemaChecker(limits)
  const was = recorded(session, limits)
  const would = await replayed(session, was, {
    ruling: ({ policy }) => ({
      policy: new Map(Object.entries(policy) as [RuleName, Action][]), tools: new Map(),
    }),
    judgement: judgementOf({ server: 's' }), limits, checker,
  })
  await checker.close()
  t.ok(compare('session', was, would).same)
  t.strictSame(
    was.decisions.filter(({ event }) => event === 'tools/call').map(({ verdict }) => verdict),
    ['log', 'block'],
  )
})

t.test('by other settings a result that was blocked passes, and the other way round', async t => {
  const session = await captured([...listed, called(1, {}), answered(1, 'y'), ended])
  const { same, changes, rewritten } = await again(session, { 'result/schema': 'log' })
  t.notOk(same)
  t.strictSame(changes.map(
    ({ event, tool, id, was, would }) => ({ event, tool, id, was: was?.verdict, would: would?.verdict }),
  ), [{ event: 'tools/call', tool: 'a', id: 1, was: 'block', would: 'log' }])
  t.strictSame(
    rewritten.map(({ to, what, id }) => ({ to, what, id })), [{ to: 'client', what: 'answer', id: '1' }],
  )
  const lenient =
    await captured([...listed, called(1, {}), answered(1, 'y'), ended], { 'result/schema': 'off' })
  t.strictSame(
    (await again(lenient)).changes.map(({ was, would }) => [was, would]),
    [[{ verdict: 'pass', rules: [] }, { verdict: 'block', rules: ['result/schema'] }]],
  )
})

t.test('the answer to a call that would be refused is no answer to nothing', async t => {
  const session = await captured([...listed, called(1, { n: 'x' }), answered(1, 1), ended])
  const { changes, would } = await again(session, { 'call/arguments': 'block' })
  t.strictSame(changes.map(({ event, would }) => [event, would?.verdict]), [['tools/call', 'block']])
  t.notOk(would.decisions.some(({ findings }) => findings.some(({ rule }) => rule === 'wire/id')))
})

t.test('a call that was refused, and would go on, has no answer, and holds nothing up', async t => {
  const session = await captured(
    [...listed, called(1, { n: 'x' }), called(2, { n: 1 }), answered(2, 1), ended],
    { 'call/arguments': 'block' },
  )
  const { would } = await again(session)
  const toClient =
    would.messages.filter(({ to }) => to === 'client').map(({ frame }) => frame.bytes.toString())
  t.match(toClient.find(text => text.includes('"id":1')), 'its answer is not in the capture')
  t.match(toClient.find(text => text.includes('"id":2')), '"structuredContent":{"n":1}')
})

t.test('a session over a gap, or without its beginning, is told of and left out', async t => {
  const { opening, events } = await captured([...listed, called(1, {}), answered(1, 1), ended])
  for (const lines of [[opening, ...events.filter(({ number }) => number !== 2)], events]) {
    const missed: string[] = []
    t.strictSame([...sessionsIn(lines, session => missed.push(session))], [])
    t.strictSame(missed, ['session'])
  }
})

import { EventEmitter } from 'node:events'
import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { duplexPair } from '#test/duplex.js'
import t from 'tap'
import { RelayProcess } from '#relay/host/processes/relay-process.js'
import type { RelayCalls } from '#relay/host/processes/calls.js'
import { RelayEnd } from '#relay/transport/channel/relay-end.js'
import { RequestArrival } from '#relay/transport/front/arrival.js'
import { Quota } from '#relay/transport/front/quota.js'
import type { RelayChild } from '#relay/transport/process/relay.js'
import { ManualTimers } from '../../transport/timers.js'

const lookMs = 500

/** A relay process in this process: what it got, and what a test has it do. */
class FakeRelay {
  readonly served: { readonly path: string; readonly generation: number }[] = []
  /** Generations of the setups that it got. */
  readonly setups: number[] = []
  generation = 0
  sessions = 0
  isKilled = false
  /** Holds setups back while it is set. */
  held: Promise<void> = Promise.resolve()
  failure: Error | undefined = undefined
  readonly child: RelayChild
  readonly end: RelayEnd<never>
  readonly #events = new EventEmitter()

  constructor(pid: number) {
    const [near, far] = duplexPair()
    this.child = {
      pid, channel: near, maxBytes: 1e9, residentBytes: () => 0,
      onGone: gone => void this.#events.once('gone', gone),
      kill: () => {
        this.isKilled = true
        this.exit('it was ended by SIGKILL')
      },
    }
    const calls: RelayCalls = {
      setup: async ({ generation }) => {
        this.setups.push(generation)
        await this.held
        if (this.failure) throw this.failure
        this.generation = generation
      },
      vitals: () => ({ rss: 0, sessions: this.sessions }),
      ready: () => Promise.resolve({ isReachable: true }),
      counted: () => Promise.resolve([]),
      endStreams: () => Promise.resolve(),
      giveUp: () => Promise.resolve(),
      endIfIdle: () => {
        const isIdle = this.end.inFlight === 0 && this.sessions === 0
        if (isIdle) void settled().then(() => this.exit('it ended with code 0'))
        return isIdle
      },
      hurry: () => this.exit('it ended with code 0'),
    }
    this.end = new RelayEnd(far, {
      serve: request => void this.served.push({ path: request.url ?? '', generation: this.generation }),
      calls, closed: () => undefined,
    })
  }

  exit(how: string): void {
    this.#events.emit('gone', how)
  }
}

interface State {
  generation: number
  now: number
  /** Called with each process that is started. */
  prepare: (relay: FakeRelay) => void
}

const world = (idleMs = 10_000) => {
  const timers = new ManualTimers()
  const relays: FakeRelay[] = []
  const failures: string[] = []
  const state: State = { generation: 1, now: 0, prepare: () => undefined }
  const process = new RelayProcess({
    setup: () => ({ generation: state.generation, setup: {} }),
    bodies: new Quota(() => 1e9), idleMs: () => idleMs, failed: ({ reason }) => failures.push(reason),
    gone: () => undefined, named: () => undefined,
    reports: { records: () => undefined, found: () => undefined },
    spawn: () => {
      const relay = new FakeRelay(relays.push(undefined as never))
      relays[relays.length - 1] = relay
      state.prepare(relay)
      return relay.child
    },
    timers, now: () => state.now,
  })
  const looks = async (count: number): Promise<void> => {
    for (let look = 0; look < count; look += 1) {
      timers.fire(lookMs)
      await settled()
    }
  }
  const ask = (path = '/mcp') => {
    const request = new IncomingMessage(new Socket())
    Object.assign(request, { url: path, method: 'POST', complete: true })
    const response = new ServerResponse(request)
    const places = { left: 0 }
    const answer = { text: '' }
    response.end = ((chunk?: Buffer) => {
      answer.text += chunk?.toString() ?? ''
      response.emit('close')
      return response
    }) as ServerResponse['end']
    response.once('close', () => (response.destroyed = true))
    const place = () => void (places.left += 1)
    process.handOver({ request, response, arrival: new RequestArrival(request), place })
    return { response, places, answer }
  }
  const at = (index: number): FakeRelay => {
    const relay = relays[index]
    if (relay === undefined) throw new Error('it was not started')
    return relay
  }
  return { process, relays, at, failures, state, looks, ask }
}

/** Lets both ends of the channel handle everything that was sent. */
const settled = async (): Promise<void> => {
  for (let turn = 0; turn < 12; turn += 1) await new Promise(setImmediate)
}

const latch = () => {
  let open: () => void = () => undefined
  const held = new Promise<void>(resolve => {
    open = resolve
  })
  return { held, open: () => open() }
}

t.test('a setup that comes while the process begins is applied before its first request', async t => {
  const { process, at, state, ask } = world()
  const { held, open } = latch()
  state.prepare = relay => void (relay.held = held)
  ask('/early')
  await settled()
  state.generation = 2
  await process.setUp()
  t.pass('the reload does not wait for a process that has no requests')
  ask('/later')
  open()
  await settled()
  t.same(at(0).setups, [1, 2])
  t.same(
    at(0).served.map(({ path, generation }) => [path, generation]), [['/early', 2], ['/later', 2]],
    'in order, under the setup that holds',
  )
})

t.test('requests wait for a process that has an older setup, and the reload for the process', async t => {
  const { process, at, state, ask } = world()
  ask('/first')
  await settled()
  const { held, open } = latch()
  at(0).held = held
  state.generation = 2
  let isOver = false
  const reload = process.setUp().then(() => (isOver = true))
  const waiting = ask('/second')
  const left = ask('/third')
  left.response.emit('close')
  await settled()
  t.same(at(0).served.map(({ path }) => path), ['/first'])
  t.equal(isOver, false)
  t.equal(left.places.left, 1, 'a client that leaves meanwhile gives its place back')
  open()
  await reload
  await settled()
  t.same(at(0).served.map(({ path, generation }) => [path, generation]), [['/first', 1], ['/second', 2]])
  t.equal(waiting.places.left, 0)
})

t.test('a setup that comes during another one is sent after it', async t => {
  const { process, at, state, ask } = world()
  ask()
  await settled()
  const { held, open } = latch()
  at(0).held = held
  state.generation = 2
  const first = process.setUp()
  await settled()
  state.generation = 4
  const second = process.setUp()
  open()
  await Promise.all([first, second])
  t.same(at(0).setups, [1, 2, 4])
  t.equal(at(0).generation, 4)
})

t.test('a process that does not take its setup in 5 s is replaced by one that has it', async t => {
  const { process, relays, at, state, ask, looks, failures } = world()
  ask('/first')
  await settled()
  at(0).held = new Promise(() => undefined)
  state.generation = 2
  const reload = process.setUp()
  ask('/second')
  await looks(10)
  t.equal(at(0).isKilled, false)
  await looks(1)
  await reload
  await settled()
  t.same(failures, ['it did not take its new configuration within 5 s'])
  t.equal(relays.length, 2)
  t.same(at(0).served.map(({ path }) => path), ['/first'])
  t.same(at(1).served.map(({ path, generation }) => [path, generation]), [['/second', 2]])
})

t.test('repeated reloads do not prolong the life of a process that takes none', async t => {
  const { process, at, state, ask, looks } = world()
  ask()
  await settled()
  at(0).held = new Promise(() => undefined)
  for (let reload = 0; reload < 11; reload += 1) {
    state.generation += 1
    void process.setUp()
    await looks(1)
  }
  t.equal(at(0).isKilled, true)
})

t.test('a process that cannot apply its setup is killed, and the reload does not fail', async t => {
  const { process, at, state, ask, failures } = world()
  ask()
  await settled()
  at(0).failure = new Error('no such file')
  state.generation = 2
  await process.setUp()
  t.equal(at(0).isKilled, true)
  t.same(failures, ['no such file'])
})

t.test('requests that wait for a process that cannot begin are answered', async t => {
  const { relays, state, ask, failures } = world()
  state.prepare = relay => void (relay.failure = new Error('no log'))
  const { answer, places } = ask()
  await settled()
  t.match(answer.text, /-31001/)
  t.equal(places.left, 1)
  t.same(failures, ['no log'])
  t.equal(relays.length, 1)
})

t.test('a session that begins when an idle process is about to end is not ended with it', async t => {
  const { relays, at, ask, looks } = world(1000)
  const { response } = ask()
  await settled()
  response.emit('close')
  await looks(2)
  // The front does not know of this session yet.
  at(0).sessions = 1
  await looks(2)
  t.equal(relays.length, 1)
  ask('/more')
  await settled()
  t.equal(at(0).served.at(-1)?.path, '/more', 'its requests reach it')
  at(0).sessions = 0
  at(0).end.calls.close()
})

t.test('an idle process ends, and what comes meanwhile is for the next one', async t => {
  const { relays, at, ask, looks, failures } = world(1000)
  const { response } = ask()
  await settled()
  response.emit('close')
  await looks(4)
  ask('/next')
  await settled()
  await settled()
  t.equal(relays.length, 2)
  t.same(at(1).served.map(({ path }) => path), ['/next'])
  t.same(failures, [])
})

t.test('sessions that may have begun count until the process tells how many there are', async t => {
  const { process, at, ask, looks } = world()
  process.sessionMayBegin()
  ask()
  t.equal(process.sessions, 1, 'it is beginning')
  await settled()
  at(0).sessions = 1
  await looks(1)
  t.equal(process.sessions, 1, 'the process tells of it')
  process.sessionMayBegin()
  process.sessionMayBegin()
  t.equal(process.sessions, 3)
  at(0).sessions = 2
  await looks(1)
  t.equal(process.sessions, 2, 'one of them began none')
  process.sessionMayBegin()
  at(0).child.kill()
  t.equal(process.sessions, 0, 'sessions end with their process')
  at(0).end.calls.close()
})

import { EventEmitter } from 'node:events'
import t, { type Test } from 'tap'
import { Workers, type Forked } from '../../dist/workers/primary.js'

interface Sent {
  readonly call?: number
  readonly name?: string
}

/** What the primary process sees of a worker. */
class Fake implements Forked {
  readonly #events = new EventEmitter()
  readonly sent: Sent[] = []
  readonly process: { readonly pid: number | undefined; kill(): boolean }

  constructor(readonly number: number, pid: number | undefined) {
    this.process = { pid, kill: () => true }
  }

  on(event: string, listener: (...given: never[]) => void): void {
    this.#events.on(event, listener as (...given: unknown[]) => void)
  }

  emit(event: string, ...given: readonly unknown[]): void {
    this.#events.emit(event, ...given)
  }

  send(message: object): void {
    this.sent.push(message)
  }

  ready(): void {
    this.emit('message', { call: 1, name: 'ready', given: 'http://127.0.0.1:7400' })
  }

  asked(name: string): readonly Sent[] {
    return this.sent.filter(sent => sent.name === name)
  }

  answer(name: string, value?: unknown): void {
    this.emit('message', { answer: this.asked(name)[0]?.call, value })
  }
}

const crew = (t: Test, pid: (nth: number) => number | undefined = nth => nth) => {
  const forked: Fake[] = []
  const [warnings, failures]: [string[], string[]] = [[], []]
  const workers = new Workers({
    count: 2,
    listen: { host: '127.0.0.1', port: 7400 },
    warn: message => warnings.push(message),
    failed: error => failures.push(error.message),
    records: () => undefined,
    gone: () => undefined,
    fork: ({ number }) => {
      const fake = new Fake(number, pid(forked.length + 1))
      forked.push(fake)
      return fake
    },
  })
  t.teardown(() => workers.kill())
  const nth = (index: number): Fake => {
    const fake = forked[index - 1]
    if (fake === undefined) throw new Error(`only ${forked.length} were forked`)
    return fake
  }
  return { workers, forked, nth, warnings, failures }
}

const started = async (t: Test, pid?: (nth: number) => number | undefined) => {
  const all = crew(t, pid)
  const url = all.workers.start()
  for (const fake of all.forked) fake.ready()
  await url
  return all
}

/** As long as it takes to be told over a pipe. */
const turn = () => new Promise(setImmediate)

t.test('a worker that was starting while the others read the configuration again is told to', async t => {
  const { workers, nth } = await started(t)
  nth(1).emit('exit', null, 'SIGKILL')
  const reloaded = workers.reload()
  nth(2).answer('reload')
  await reloaded
  t.same(nth(3).sent, [], 'what starts can be told nothing')
  nth(3).ready()
  await turn()
  t.equal(nth(3).number, 1)
  t.equal(nth(3).asked('reload').length, 1)
  t.equal(nth(2).asked('reload').length, 1)

  nth(2).emit('exit', null, 'SIGKILL')
  nth(4).ready()
  await turn()
  t.same(nth(4).asked('reload'), [], 'it has read what there is')
})

t.test('what a worker has answered before it ended is not taken for its successor\'s', async t => {
  const { workers, nth } = await started(t)
  const asked = workers.ask('counted')
  nth(1).answer('counted', [{ name: 'of the first' }])
  await turn()
  nth(1).emit('exit', null, 'SIGKILL')
  nth(2).answer('counted', [])
  t.same([...await asked], [[2, []]])
})

t.test('a worker for which there is no process is tried again; before all have started, it ends the whole', async t => {
  const born = await started(t, nth => (nth < 3 ? nth : undefined))
  born.nth(1).emit('exit', null, 'SIGKILL')
  born.nth(3).emit('error', new Error('spawn EAGAIN'))
  born.nth(2).emit('error', new Error('EPIPE'))
  t.match(born.warnings, [/^worker 1 .* has ended by SIGKILL/, /^worker 1 cannot be started, which is tried again: spawn EAGAIN$/])
  t.equal(born.warnings.length, 2)
  t.same(born.failures, [])

  const { workers, nth, failures } = crew(t, nth => (nth < 2 ? nth : undefined))
  void workers.start()
  nth(1).ready()
  nth(2).emit('error', new Error('spawn EAGAIN'))
  t.same(failures, ['spawn EAGAIN'])
})

import t from 'tap'
import { Channel, inBatches } from '#relay/transport/channel/calls.js'

type Sums = { readonly sum: (given: readonly number[]) => Promise<number> }

type Message = Parameters<Channel<Sums>['onMessage']>[0]

const copied = (message: object): Message => JSON.parse(JSON.stringify(message)) as Message

/** Two ends, over what JSON can say. */
const pair = () => {
  const calls: Sums = {
    sum: given =>
      (given.length === 0 ? Promise.reject(
        new Error('nothing to add'),
      ) : Promise.resolve(given.reduce((sum, one) => sum + one))),
  }
  const near = new Channel<Sums>(message => queueMicrotask(() => far.onMessage(copied(message))), {})
  const far = new Channel<Sums>(message => queueMicrotask(() => near.onMessage(copied(message))), calls)
  return { near, far }
}

t.test('a call is answered by the other end, each by its own answer', async t => {
  const { near } = pair()
  t.same(await Promise.all([near.call('sum', [1, 2]), near.call('sum', [3])]), [3, 3])
})

t.test('a failure is the caller\'s to know, and so is the end of the other', async t => {
  const { near } = pair()
  await t.rejects(near.call('sum', []), { message: 'nothing to add' })
  const waiting = near.call('sum', [1])
  near.close()
  await t.rejects(waiting, /gone/)
  await t.rejects(near.call('sum', [1]), /gone/)
})

t.test('who waits for one that hangs does so for as long as was said', async t => {
  const call = new Channel<Sums>(() => undefined, {}).call('sum', [1], 1)
  await t.rejects(call, /does not answer/)
})

t.test('what comes while a batch is on its way goes with the next', async t => {
  const batches: (readonly number[])[] = []
  const arrivals: (() => void)[] = []
  const { promise: first, resolve: begun } = withResolvers()
  const send = inBatches<number>(batch => {
    batches.push(batch)
    begun()
    return new Promise<void>(resolve => arrivals.push(resolve))
  })
  send(1)
  send(2)
  await first
  send(3)
  send(4)
  t.same(batches, [[1, 2]])
  arrivals[0]?.()
  await new Promise(setImmediate)
  t.same(batches, [[1, 2], [3, 4]])
})

const withResolvers = () => {
  let resolve: () => void = () => undefined
  const promise = new Promise<void>(settle => (resolve = settle))
  return { promise, resolve }
}

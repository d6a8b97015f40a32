import { connect } from 'node:net'
import fc from 'fast-check'
import t from 'tap'
import { RedisEngine } from '#relay/host/replicas/redis.js'
import type { Engine } from '#relay/host/replicas/store.js'
import { engine, startEngine } from '#test/e2e/replicas.js'
import { MemoryEngine } from './memory.js'

const skip = engine === undefined && 'neither valkey-server nor redis-server is installed'

t.test('an engine that allows no writes is a problem until it allows them, and is connected to anew', { skip }, async t => {
  const { port, url } = await startEngine(t)
  const command = (line: string) => new Promise<void>(resolve => {
    const socket = connect(port, '127.0.0.1', () => socket.write(`${line}\r\n`))
    socket.once('data', () => socket.end(resolve))
  })
  const told: boolean[] = []
  const store = new RedisEngine({ url, told: problem => told.push(problem !== undefined) })
  t.teardown(() => store.close())
  await store.begun
  await store.set('a', '1', 100_000)
  await command('CONFIG SET maxmemory 1')
  for (let round = 0; round < 3; round++) {
    await t.rejects(store.set('a', '2', 100_000), /OOM/)
    t.equal(await store.get('a'), '1')
  }
  t.same(told, [true], 'reads that work between do not say that all is well')
  await command('CONFIG SET maxmemory 0')
  await command('REPLICAOF 127.0.0.1 1')
  while (store.generation === 0) {
    await store.set('a', '2', 100_000).catch(() => undefined)
    await new Promise(resolve => setImmediate(resolve))
  }
  await command('REPLICAOF NO ONE')
  while (store.problem !== undefined) await store.set('a', '3', 100_000).catch(() => undefined)
  t.equal(await store.get('a'), '3')
  t.same(told, [true, false])
})

t.test('the engine in memory, by which replicas are tested, does what the real one does', { skip }, async t => {
  const { url } = await startEngine(t)
  const real = new RedisEngine({ url })
  t.teardown(() => real.close())
  await real.begun
  const [key, value] = [fc.constantFrom('a', 'b'), fc.constantFrom('1', '2', 'ü 3')]
  const before = fc.option(value, { nil: undefined })
  const step = fc.oneof(
    fc.tuple(fc.constantFrom('get', 'delete', 'expire'), key, value, before),
    fc.tuple(fc.constantFrom('set', 'replace', 'swap'), key, value, before),
  )
  let run = 0
  await fc.assert(fc.asyncProperty(fc.array(step, { maxLength: 12 }), async steps => {
    const [fake, prefix] = [new MemoryEngine(), `${run++} `]
    const doing = (one: Engine, [what, name, text, old]: typeof steps[number]): Promise<unknown> => {
      const at = prefix + name
      switch (what) {
        case 'get': return one.get(at)
        case 'set': return one.set(at, text, 100_000)
        case 'replace': return one.replace(at, text, 100_000)
        case 'swap': return one.swap(at, old, text, 100_000)
        case 'expire': return one.expire(at, 100_000)
        case 'delete': return one.delete(at)
      }
    }
    for (const one of steps) t.same(await doing(fake, one), await doing(real, one), one.join(' '))
  }), { numRuns: 200 })
})

import { connect } from 'node:net'
import t from 'tap'
import { RedisEngine } from '#state/redis.js'
import { engine, startEngine } from '../e2e/replicas.js'

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

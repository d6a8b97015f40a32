import t from 'tap'
import { Proofs } from '#state/proofs.js'
import { Replicas } from '#state/replicas.js'
import { MemoryStore } from './memory.js'

const setUp = (secret = 'known-to-all-replicas', store = new MemoryStore()) => {
  const replicas = new Replicas({ store, prefix: 'p', proofs: new Proofs(secret), advertise: 'http://10.0.0.1:1' })
  t.teardown(() => replicas.close())
  return { store, replicas }
}

/** Long after the connection was made. */
const later = () => performance.now() + 60_000

t.test('a replica is found where it says that it is, by those who have the key', async t => {
  const { store, replicas } = setUp()
  await replicas.say()
  t.equal(await setUp(undefined, store).replicas.addressOf(replicas.name), 'http://10.0.0.1:1')
  t.equal(await setUp('another-key', store).replicas.addressOf(replicas.name, later()), undefined)
  await replicas.close()
  t.equal(await setUp(undefined, store).replicas.addressOf(replicas.name, later()), undefined, 'it is gone')
})

t.test('an engine that has lost its memory says of no replica that it is gone', async t => {
  const { store, replicas } = setUp()
  const other = setUp(undefined, store).replicas
  await replicas.say()
  t.equal(await other.addressOf(replicas.name), 'http://10.0.0.1:1')
  store.held.clear()
  other.connected()
  await t.rejects(other.addressOf(replicas.name), /have yet to say/)
  await replicas.say()
  t.equal(await other.addressOf(replicas.name), 'http://10.0.0.1:1', 'and nothing false is remembered')
})

t.test('a proof is of one request and one minute', t => {
  const proofs = new Proofs('known-to-all-replicas')
  const proof = proofs.proofOf(['POST', '/mcp'], 1000)
  t.equal(proofs.isProof(proof, ['POST', '/mcp'], 30_000), true)
  t.equal(proofs.isProof(proof, ['POST', '/mcp'], 90_000), false)
  t.equal(proofs.isProof(proof, ['DELETE', '/mcp'], 1000), false)
  t.equal(new Proofs('another-key').isProof(proof, ['POST', '/mcp'], 1000), false)
  t.equal(proofs.isProof('1000.', [], 1000), false)
  t.end()
})

import fc from 'fast-check'
import t from 'tap'
import { Store, usedUp } from '#relay/host/replicas/store.js'
import { MemoryEngine, secret, storeIn } from './memory.js'

const setUp = () => {
  const engine = new MemoryEngine()
  let forged = 0
  const store = storeIn(engine, () => {
    forged++
  })
  const put = (key: string, value: string) => void engine.held.set(key, { value, until: Infinity })
  const raw = (key: string) => engine.held.get(key)?.value ?? ''
  return { engine, store, put, raw, forged: () => forged }
}

const text = fc.string({ unit: 'binary', maxLength: 40 })

t.test('a value is believed at its own key, as it was written with the secret, and nowhere else', async t => {
  const changes = [fc.nat(), fc.integer({ min: 1, max: 127 })] as const
  await fc.assert(fc.asyncProperty(text, text, ...changes, async (value, other, at, by) => {
    const { store, put, raw, forged } = setUp()
    await store.set('a', value, 1000)
    await store.set('b', other, 1000)
    t.equal(await store.get('a'), value)
    const [a, b] = [raw('a'), raw('b')]
    const index = at % a.length
    const flipped = a.slice(0, index) + String.fromCharCode(a.charCodeAt(index) ^ by) + a.slice(index + 1)
    const others = [flipped, b, value, usedUp, '', a.slice(1), `${a} `, ` ${a}`, a.replace(' ', '')]
    let expected = 0
    for (const one of others.filter(one => one !== a)) {
      put('a', one)
      t.equal(await store.get('a'), undefined)
      put('a', one)
      t.equal(await store.take('a', 1000), undefined)
      t.equal(await store.take('a', 1000), usedUp, 'it is used up all the same')
      put('a', one)
      await store.update('a', 1000, before => ({ value: before ?? 'new', result: undefined }))
      t.equal(await store.get('a'), 'new')
      expected += 3
    }
    t.equal(forged(), expected, 'each was told')
    put('a', a)
    t.equal(await new Store(new MemoryEngine(), secret).get('a'), undefined)
    t.equal(await store.get('a'), value, 'an old value of the same key is believed: docs/scale.md says so')
  }), { numRuns: 50 })
})

t.test('a value that another secret has signed is not believed', async t => {
  const { engine, store } = setUp()
  await new Store(engine, `${secret}.`).set('a', 'x', 1000)
  t.equal(await store.get('a'), undefined)
})

t.test('an update is made again when another replica was faster, and gives up at last', async t => {
  const { engine, store } = setUp()
  const other = storeIn(engine)
  const add = (replica: Store) => replica.update('n', 1000, before => {
    const value = String(Number(before ?? 0) + 1)
    return { value, result: value }
  })
  const results = await Promise.all([store, other, store, other, store].map(add))
  t.same([...results].sort(), ['1', '2', '3', '4', '5'])
  let tries = 0
  await t.rejects(store.update('n', 1000, () => {
    void other.set('n', String(++tries * 1000), 1000)
    return { value: 'never', result: undefined }
  }), /all the time/)
  t.equal(tries, 20)
})

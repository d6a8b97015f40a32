import t from 'tap'
import { processLedger } from '#core/memory.js'
import { profiled } from '#inspect/profiles.js'
import { gemini } from '#profiles/gemini.js'
import { shapesOf } from '#profiles/shape.js'
import { isObject, type JsonObject, Meter, weigh } from '#protocol/json.js'

const shapeOf = () => shapesOf(['gemini'], 's')?.of(undefined)

const property = (n: number) => [`p${n}`, { type: 'string', format: 'uri', title: `${n}` }] as const

/** A definition that its profile makes larger. */
const definition = (name: string): JsonObject => ({
  name,
  inputSchema: { type: 'object', properties: Object.fromEntries(Array.from({ length: 500 }, (_, n) => property(n))) },
})

t.test('what a definition became is kept in the memory of the process, for all shapes of the same profiles', t => {
  const before = processLedger.kept
  const made = shapeOf()?.adapted(definition('a'), new Meter())
  if (!isObject(made)) throw new Error('no shape')
  const weight = processLedger.kept - before
  t.ok(weight >= weigh(made), `${weight} bytes`)
  t.equal(shapeOf()?.adapted(definition('a'), new Meter()), made, 'after the settings were read again too')
  t.equal(processLedger.kept - before, weight)
  t.end()
})

/** Each level is looked at twice. */
const doubled = (depth: number): JsonObject =>
  (depth === 0 ? { type: 'string' } : { contains: doubled(depth - 1), maxContains: 1 })

const costly = { name: 'costly', inputSchema: { type: 'object', properties: { a: doubled(30) } } }

t.test('a definition that costs too much is refused, and costs its share alone', t => {
  const shape = shapeOf()
  const meter = new Meter()
  t.match(shape?.refusals(costly, meter), [{ message: 'has more parts than are looked at' }])
  t.equal(shape?.adapted(costly, meter), costly)
  const other = definition('b')
  t.not(shape?.adapted(other, meter), other)
  const [of] = profiled([{ name: 'costly', definition: costly }], [gemini], 's')
  t.match(of?.tools, [{ verdict: 'refused', reasons: [{ message: 'has more parts than are looked at' }] }])
  t.end()
})

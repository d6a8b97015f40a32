// What a check costs beside bare ajv (compiled ahead, ajv-formats), on the main thread: node bench/schema.mjs
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { setImmediate } from 'node:timers/promises'
import { createSchemaChecker } from '../dist/relay/schema/index.js'

const limits = { schemaBytes: 262144, schemaDepth: 64, subschemas: 5000, validationMs: 100 }
const roles = ['admin', 'editor', 'viewer', 'guest']
const names = ['Ada Lovelace', 'Alan Turing', 'Grace Hopper', "Miles O'Brien"]

const row = id => ({
  id, name: names[id % 4], role: roles[id % 4], email: `u${id}@ex.org`,
  createdAt: new Date(1.7e12 + id * 61_000).toISOString(), score: (id * 37) % 100,
})
const rows = count => ({ rows: Array.from({ length: count }, (_, id) => row(id)), total: count })
const schema = title => ({
  type: 'object', title,
  properties: {
    rows: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          id: { type: 'integer', minimum: 0 }, name: { type: 'string', minLength: 1, pattern: "^[A-Za-z][A-Za-z .'-]{0,63}$" },
          role: { type: 'string', enum: roles }, email: { type: 'string', format: 'email' },
          createdAt: { type: 'string', format: 'date-time' }, score: { type: 'number', minimum: 0, maximum: 100 },
        },
        required: ['id', 'name', 'role', 'email', 'createdAt', 'score'], additionalProperties: false,
      },
    },
    total: { type: 'integer', minimum: 0 },
  },
  required: ['rows', 'total'], additionalProperties: false,
})

// One instance for all: a new one would compile its meta-schema first.
const ajv = formats.default(new Ajv2020({ validateSchema: false, addUsedSchema: false }))

const sizes = [['small (1 row)', 1, 2000], ['medium (20 KB)', 160, 20], ['large (1 MB)', 8000, 1]]
const rounds = Number(process.argv[2] ?? 30)

/** The best of many rounds, taken in turn, so that what else the machine does falls on all alike. In microseconds. */
const best = async contestants => {
  const times = contestants.map(() => Infinity)
  for (let round = 0; round < rounds; round++) {
    for (const [index, { run, count }] of contestants.entries()) {
      // What was done in one turn of the event loop counts against the next check in it.
      await setImmediate()
      const from = performance.now()
      let answer
      for (let turn = 0; turn < count; turn++) answer = run()
      const time = performance.now() - from
      if (answer instanceof Promise) throw new Error('a check that is measured is answered at once')
      times[index] = Math.min(times[index], (time / count) * 1000)
    }
  }
  return times
}

const checker = createSchemaChecker(limits)
for (const [name, count, turns] of sizes) {
  const declared = schema(name)
  const value = rows(count)
  const validate = ajv.compile(declared)
  // The first time code is cold.
  for (let turn = 0; turn < 5; turn++) await checker.check({ kind: 'value', schema: declared, value, path: '' })
  const check = () => checker.check({ kind: 'value', schema: declared, value, path: '' })
  if ((await check()).length > 0 || !validate(value)) throw new Error('the value is valid')
  const [ours, theirs] = await best([{ run: check, count: turns }, { run: () => validate(value), count: turns }])
  console.log(`${name.padEnd(16)} ${ours.toFixed(1).padStart(9)} µs   bare ajv ${theirs.toFixed(1).padStart(9)} µs   ratio ${(ours / theirs).toFixed(2)}`)
}

// Other titles in each round: a schema that is known is not read again.
const listed = Array.from({ length: 15 }, (_, round) => Array.from({ length: 400 }, (_, index) => schema(`tool ${index} of ${round}`)))
let list = Infinity
for (const tools of listed) {
  const from = performance.now()
  await Promise.all(tools.map(one => checker.check({ kind: 'schema', schema: one, path: '' })))
  list = Math.min(list, performance.now() - from)
}
console.log(`a list of 400 tools inspected in ${list.toFixed(1)} ms`)
const compileFrom = performance.now()
for (const one of listed[0].slice(0, 20)) ajv.compile(one)
console.log(`ajv compiles 400 such in about ${((performance.now() - compileFrom) * 20).toFixed(0)} ms`)
await checker.close()

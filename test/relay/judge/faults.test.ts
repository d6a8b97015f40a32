import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import t from 'tap'
import { ByteValidator, failures as channel } from '#relay/judge/index.js'
import { instantiate, type Module } from '#relay/judge/module.js'
import { isRecord, field } from '#relay/protocol/unmetered.js'
import { parseFrame } from '#relay/protocol/parse.js'
import { textOf } from '#relay/protocol/read-fast.js'
import { Budget } from '#relay/schema/budget.js'
import { read } from '#relay/schema/read/read.js'
import { tableOf } from '#relay/schema/table/table.js'

/** Node has it, though its types do not. */
const wasm =
  Reflect.get(globalThis, 'WebAssembly') as { Instance: new (module: object) => { readonly exports: object } }

/** Hears of every instance that is made until the test is over, and may change what it offers. */
const watch = (t: Tap, change: (made: Module) => object = made => made): readonly Module[] => {
  instantiate()
  const made: Module[] = []
  const { Instance } = wasm
  t.teardown(() => (wasm.Instance = Instance))
  wasm.Instance = class {
    readonly exports: object
    constructor(module: object) {
      const own = new Instance(module).exports as Module
      made.push(own)
      this.exports = change(own)
    }
  }
  return made
}

type Tap = Pick<typeof t, 'teardown'>

const table = (schema: Parameters<typeof read>[0]) => {
  const made = tableOf(read(schema, 5000, new Budget(1e6), 300).schema?.root ?? raise(), new Budget(1e6))
  return made ?? raise()
}

const raise = (): never => {
  throw new Error('a schema that cannot be used')
}

const large = Buffer.from(`{"a":[${'{"b":"some of it"},'.repeat(90_000)}1]}`)
const small = Buffer.from('{"result":{"structuredContent":{"a":[1]}}}')

/** A validator, and the failures that it told. */
const validatorOf = (t: Tap) => {
  const failures: unknown[] = []
  const failed = (error: unknown): void => void failures.push(error)
  subscribe(channel.name, failed)
  t.teardown(() => unsubscribe(channel.name, failed))
  return { validator: new ByteValidator([]), failures }
}

t.test('memory that a large text took is given back, and what comes then is judged as ever', async t => {
  const made = watch(t)
  const { validator, failures } = validatorOf(t)
  const string = table({ properties: { a: { type: 'string' } } })
  const array = table({ properties: { a: { type: 'array' } } })
  t.ok(validator.readResult(large, 10))
  t.equal(made.length, 1)
  const taken = made[0]?.memory.buffer.byteLength ?? 0
  t.ok(taken > large.length, `${taken} bytes`)
  for (let index = 0; index < 300; index++) {
    const structured = validator.readResult(small, 10)?.structured
    if (structured === undefined) return t.fail('is fine')
    t.notOk(validator.isSurelyValid(structured, string))
    t.ok(validator.isSurelyValid(structured, array))
  }
  t.equal(made.length, 2, 'in one new instance')
  t.ok((made[1]?.memory.buffer.byteLength ?? 0) < 2 ** 21)
  t.same(failures, [])
})

t.test('neither the deepest texts nor schemas that refer to themselves exhaust the stack', t => {
  const { validator, failures } = validatorOf(t)
  const self = { $ref: '#' }
  const schemas = [
    { anyOf: [{ properties: { a: self }, items: self }, { items: self, minItems: 1 }] },
    { items: { anyOf: [{ ...self, minItems: 0 }, { ...self, maxItems: 9 }] } },
    { additionalProperties: { allOf: [self, { type: 'object' }] }, items: { oneOf: [self, { type: 'null' }] } },
    { additionalProperties: { not: { ...self, type: 'null' } }, items: { not: { ...self, type: 'null' } } },
  ]
  let valid = 0
  for (const depth of [50, 499, 500, 5000]) {
    const texts = [`${'['.repeat(depth)}${']'.repeat(depth)}`, `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`]
    for (const schema of schemas) for (const text of texts) {
      if (validator.isSurelyValid(Buffer.from(text), table(schema))) valid++
    }
  }
  t.same(failures, [])
  t.ok(valid > 4, `${valid} are surely valid`)
  t.end()
})

t.test('texts of all sizes in turns take no more than the largest of them, and few instances', async t => {
  const made = watch(t)
  const { validator } = validatorOf(t)
  for (let index = 0; index < 400; index++) t.ok(validator.readResult(index % 10 === 0 ? large : small, 10))
  t.equal(made.length, 1)
  const taken = made[0]?.memory.buffer.byteLength ?? 0
  t.ok(taken < 8 * 2 ** 20, `${taken} bytes`)
})

const frame =
  Buffer.from(
    '{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"{\\"a\\":1}"}],"structuredContent":{"a":1}}}',
  )

const fault = (): never => {
  throw new RangeError('a fault')
}

for (const name of ['read', 'prepare', 'left'] as const) {
  t.test(`a fault in ${name} is told, nothing is known, and the next instance knows it again`, async t => {
    let isBroken = true
    const made = watch(t, own => (isBroken ? { ...own, [name]: fault } : own))
    const { validator, failures } = validatorOf(t)
    const any = table({ type: 'object' })
    const ask = (): boolean => {
      const parts = validator.readResult(frame, 10)
      return parts?.structured !== undefined && parts.repeats.length === 1
        && validator.isSurelyValid(parts.structured, any, () => undefined)
    }
    t.notOk(ask())
    t.match(failures, [{ message: 'a fault' }])
    isBroken = false
    t.ok(ask())
    t.equal(made.length, 2)
    t.equal(failures.length, 1)
  })
}

t.test('wherever a fault comes, the message is the same', async t => {
  const long = JSON.stringify({ text: 'x'.repeat(20_000) })
  const result = {
    content: [{ type: 'text', text: long }, { type: 'text', text: 'x'.repeat(20_000) }],
    structuredContent: JSON.parse(long) as object,
  }
  const bytes = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, result }))
  let left = Infinity
  const faulty = (ask: (...given: number[]) => unknown) =>
    (...given: number[]) => (left-- === 0 ? fault() : ask(...given))
  watch(t, own => Object.fromEntries(Object.entries(own).map(([name, one]: [string, unknown]) => [
    name, typeof one === 'function' ? faulty(one as () => unknown) : one,
  ])))
  const resultAt = (call: number) => {
    left = call
    const { message, faults } = parseFrame(bytes, { messageBytes: 1 << 20, depth: 10 })
    t.same(faults, [])
    return message.kind === 'result' && message.result
  }
  let calls = 0
  for (; left < 0 || calls === 0; calls++) t.same(resultAt(calls), result, `at call ${calls}`)
  t.ok(calls > 3, `${calls} calls`)
  t.same(resultAt(0), result, 'and the instance is let go')
})

t.test('where there is no memory for it, or no WebAssembly at all, messages are parsed', async t => {
  const isUnread = (): boolean => {
    const { message } = parseFrame(frame, { messageBytes: 1 << 20, depth: 10 })
    const structured = message.kind === 'result' ? field(message.result, 'structuredContent') : undefined
    t.same(isRecord(structured) && { ...structured }, { a: 1 })
    return textOf(structured ?? null) !== undefined
  }
  const { Instance } = wasm
  t.teardown(() => (wasm.Instance = Instance))
  wasm.Instance = class {
    readonly exports = fault()
  }
  t.notOk(isUnread())
  wasm.Instance = Instance
  t.ok(isUnread())
  watch(t, own => ({ ...own, prepare: () => 0 }))
  const { validator, failures } = validatorOf(t)
  t.equal(validator.readResult(small, 10), undefined, 'memory that cannot grow')
  t.match(failures, [{ message: 'no memory for the text' }])
})

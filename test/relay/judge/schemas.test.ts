import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import t from 'tap'
import type { Data, DataObject } from '#relay/protocol/unmetered.js'
import { ByteValidator } from '#relay/judge/index.js'
import { byteValidator } from '#relay/protocol/read-fast.js'
import { Budget } from '#relay/schema/budget.js'
import { read } from '#relay/schema/read/read.js'
import { tableOf } from '#relay/schema/table/table.js'
import { verdict } from '#relay/schema/evaluate.js'
import { corpus, drafts, groupsOf, samples, suite } from '../schema/ask.js'
import { Random, runs } from './random.js'
import { anySchema, changed, fitting, value, written } from './schemas.js'

const steps = 100_000_000
const depth = 300

/** They have too few steps for most checks. */
const impatient = [1, 2, 3, 5, 8, 13, 30].map(steps => new ByteValidator([], steps))

/** What the judge and the engine say of texts by a schema; undefined of one that cannot be used. */
const judgesOf = (schema: DataObject | boolean) => {
  const reading = read(schema, 5000, new Budget(steps), depth)
  const table = reading.schema && tableOf(reading.schema.root, new Budget(steps))
  if (table === undefined) return undefined
  return (text: string) => {
    const isKnown = byteValidator.isSurelyValid(Buffer.from(text), table)
    // Formats are asserted: what is valid so is valid without.
    const isValid = verdict(reading, JSON.parse(text) as Data, new Budget(steps), depth).length === 0
    assert.ok(isValid || !isKnown, JSON.stringify({ schema, text }))
    // In a message, and then alone.
    const message = Buffer.from(`{"id":1,"result":{"structuredContent":${text}}}`)
    const parts = byteValidator.readResult(message, depth + 2, table)
    assert.ok(isValid || parts?.isValid !== true, JSON.stringify({ schema, text }))
    assert.ok(parts?.isValid === true || !isKnown, JSON.stringify({ schema, text }))
    const isFooled = !isValid && impatient.some(one => one.isSurelyValid(Buffer.from(text), table))
    assert.ok(!isFooled, JSON.stringify({ schema, text }))
    return { isKnown, isValid }
  }
}

/** Values by their schemas: so many are valid, and so many of those surely so. */
const count = (
  random: Random, most: number, next: () => readonly [DataObject | boolean, readonly Data[]],
) => {
  const sum = { schemas: 0, values: 0, valid: 0, known: 0 }
  while (sum.values < most) {
    const [schema, given] = next()
    const ask = judgesOf(schema)
    if (ask === undefined) continue
    sum.schemas++
    const values = [
      ...given.slice(0, 6), ...Array.from({ length: 8 }, () => fitting(schema, schema, random)),
      value(random),
    ]
    for (const one of [...values, ...values.map(one => changed(one, random))]) {
      const { isKnown, isValid } = ask(written(one, random))
      sum.values++
      if (isValid) sum.valid++
      if (isKnown) sum.known++
    }
  }
  return sum
}

t.test('by schemas that are made, in every dialect, a value is surely valid only where the engine finds nothing', async t => {
  const random = new Random()
  const sum = count(random, runs(20_000), () => [anySchema(random), []])
  t.comment(JSON.stringify(sum))
  t.ok(sum.valid > 0.3 * sum.values && sum.known > 0.5 * sum.valid, JSON.stringify(sum))
})

t.test('so it is by the official ones, and by those of real servers', {
  skip: existsSync(suite) && existsSync(corpus) ? false : 'they are not here',
}, async t => {
  const random = new Random(2)
  const all = [
    ...drafts.flatMap(([draft, uri]) =>
      groupsOf(draft, uri).map(({ schema, tests }) => [schema, tests.map(({ data }) => data)] as const)),
    ...samples().map(({ schema, values }) => [schema, values] as const),
  ]
  const sum = count(random, runs(20_000), () => random.in(all))
  t.comment(JSON.stringify(sum))
  t.ok(sum.known > 0.6 * sum.valid, JSON.stringify(sum))
})

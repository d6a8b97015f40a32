import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import t from 'tap'
import type { Frame } from '#relay/protocol/frame.js'
import { findHidden } from '#relay/protocol/text/hidden.js'
import { ByteValidator } from '#relay/judge/index.js'
import { hiddenCharacters } from '#relay/protocol/text/characters.js'
import { Budget } from '#relay/schema/budget.js'
import { verdict } from '#relay/schema/evaluate.js'
import { read as readSchema } from '#relay/schema/read/read.js'
import { tableOf } from '#relay/schema/table/table.js'
import { isList, isRecord, isString, field, type Data } from '#relay/protocol/unmetered.js'
import { parseFrame } from '#relay/protocol/parse.js'
import { byteValidator, textOf } from '#relay/protocol/read-fast.js'
import { corpus } from '../schema/ask.js'
import { Random, runs } from './random.js'
import { answer, answerOfNames, longAnswer, mutated, schemaOfNames } from './texts.js'

const steps = 100_000_000

/** They have too few steps for most checks. */
const impatient = [1, 2, 3, 5, 8, 13, 30].map(steps => new ByteValidator(hiddenCharacters, steps))

const limits = { messageBytes: 1 << 24, depth: 12 }

const resultOf = ({ message }: Frame) => (message.kind === 'result' ? message.result : undefined)

/** The text of structured content that was not parsed. */
const unreadIn = (frame: Frame): string | undefined =>
  textOf(field(resultOf(frame), 'structuredContent') ?? null)?.toString()

/** Each string of a value, names too. */
const stringsIn = (value: Data): readonly string[] => {
  if (isString(value)) return [value]
  if (isList(value)) return value.flatMap(stringsIn)
  return isRecord(value) ? Object.entries(value).flatMap(([key, one = null]) => [key, ...stringsIn(one)]) : []
}

/** The tokens of a JSON text, as they are spelled. */
const tokensOf = (text: string): readonly string[] =>
  text.match(/"(?:[^"\\]|\\[^])*"|[[\]{},:]|[^\s"[\]{},:]+/g) ?? []

const textAt = (frame: Frame, index: number): string => {
  const content = field(resultOf(frame), 'content')
  const block = isList(content) ? content[index] : undefined
  const text = isRecord(block) ? field(block, 'text') : undefined
  return isString(text) ? text : ''
}

/**
 * A message is the same, judged from its bytes or parsed.
 * @returns whether it was judged so, and how many texts are known to repeat it
 */
const compare = (bytes: Buffer, within = limits): { readonly isFine: boolean; readonly repeats: number } => {
  const title = bytes.toString('latin1').slice(0, 2000)
  const [judged, parsed] = [parseFrame(bytes, within), parseFrame(bytes, { ...within, judgedBytes: 0 })]
  const text = unreadIn(judged)
  const repeats = judged.facts?.repeats ?? []
  for (const index of repeats) assert.deepEqual(tokensOf(textAt(parsed, index)), tokensOf(text ?? ''), title)
  if (text !== undefined) {
    assert.ok(parsed.faults.every(({ message }) => message.includes('only in case')), title)
    const strings = judged.facts?.plain === true ? stringsIn(JSON.parse(bytes.toString()) as Data) : []
    for (const one of strings) assert.equal(findHidden(one), undefined, title)
  }
  assert.ok(judged.facts?.plain === true || parsed.facts?.plain !== true, title)
  assert.equal(judged.facts?.onlyContainer, parsed.facts?.onlyContainer, title)
  assert.deepEqual(judged.faults, parsed.faults, title)
  assert.deepEqual(judged.otherKeys, parsed.otherKeys, title)
  assert.equal(JSON.stringify(judged.message), JSON.stringify(parsed.message), title)
  assert.deepEqual(judged.message, parsed.message, title)
  return { isFine: text !== undefined, repeats: repeats.length }
}

t.test('texts that are made, and changed byte by byte, are read alike', async t => {
  const random = new Random()
  const count = runs(6000)
  let [fine, whole, repeats] = [0, 0, 0]
  for (let index = 0; index < count; index++) {
    let bytes: Buffer = Buffer.from(answer(random))
    const changes = random.once(2) ? 0 : random.below(3) + 1
    for (let change = 0; change < changes; change++) bytes = mutated(bytes, random)
    const told = compare(bytes)
    if (changes === 0) whole++
    if (told.isFine) fine++
    repeats += told.repeats
  }
  t.comment(`${count} texts, ${fine} surely fine, ${repeats} texts in them surely repeat what is structured`)
  t.ok(whole > count / 3 && fine > count / 4, `${fine} of ${count} are surely fine`)
  t.ok(repeats > count / 30, `${repeats} repeat`)
})

t.test('a text is read by a schema as it is read without, and surely valid only where the engine finds nothing', async t => {
  const random = new Random(5)
  const count = runs(4000)
  let [fine, valid] = [0, 0]
  while (fine < count / 3) {
    const schema = schemaOfNames(random)
    const reading = readSchema(schema, 5000, new Budget(steps), 300)
    const table = reading.schema && tableOf(reading.schema.root, new Budget(steps))
    if (table === undefined) continue
    for (let text = 0; text < 30; text++) {
      const validator = random.once(2) ? byteValidator : random.in(impatient)
      let bytes: Buffer = Buffer.from(random.once(3) ? answer(random) : answerOfNames(random, schema))
      if (random.once(3)) bytes = mutated(bytes, random)
      const title = JSON.stringify({ schema, text: bytes.toString('latin1') })
      const alone = validator.readResult(bytes, 12)
      const checked = validator.readResult(bytes, 12, table)
      assert.ok(alone !== undefined || checked === undefined, title)
      if (alone === undefined || checked === undefined) continue
      fine++
      assert.deepEqual({ ...checked, isValid: false }, alone, title)
      if (!checked.isValid) continue
      valid++
      const value = JSON.parse(checked.structured?.toString() ?? '') as Data
      assert.deepEqual(verdict(reading, value, new Budget(steps), 300), [], title)
    }
  }
  t.comment(`${fine} texts, ${valid} surely valid`)
  t.ok(valid > fine / 4 && valid < fine / 1.1, `${valid} of ${fine} are surely valid`)
})

t.test('answers of real servers, whole and changed byte by byte, are read alike', {
  skip: existsSync(corpus) ? false : 'the corpus is not here',
}, async t => {
  const random = new Random(7)
  const lines = readdirSync(corpus).flatMap(server => {
    const file = new URL(`${encodeURIComponent(server)}/calls.jsonl`, corpus)
    return existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : []
  })
  const answers = lines.flatMap(line => {
    const { response } = JSON.parse(line) as { response: string | null }
    return response?.includes('"structuredContent"') === true ? [Buffer.from(response)] : []
  })
  const wide = { ...limits, depth: 128 }
  const whole = answers.filter(bytes => compare(bytes, wide).isFine).length
  const short = answers.filter(({ length }) => length < 4000)
  const count = runs(2000)
  let fine = 0
  for (let index = 0; index < count; index++) {
    if (compare(mutated(random.in(short), random), wide).isFine) fine++
  }
  t.comment(`${answers.length} answers, ${whole} surely fine; ${count} changed, ${fine} surely fine`)
  t.ok(whole > 0.9 * answers.length && fine > count / 5)
})

t.test('long strings have their values, whatever their escapes and characters', async t => {
  const random = new Random(11)
  const count = runs(300)
  let fine = 0
  for (let index = 0; index < count; index++) {
    const bytes = Buffer.from(longAnswer(random))
    const { isFine } = compare(random.once(3) ? mutated(bytes, random) : bytes)
    if (isFine) fine++
  }
  t.ok(fine > count / 3, `${fine} of ${count} are surely fine`)
})

t.test('a text that is cut off anywhere is read alike, and one with something behind it', async () => {
  const random = new Random(3)
  for (let index = 0; index < 12; index++) {
    const bytes = Buffer.from(answer(random))
    // A long text is cut at some of its bytes: each cut reads all bytes before it.
    const step = Math.ceil(bytes.length / 600)
    for (let length = index % step; length < bytes.length; length += step) {
      assert.equal(
        compare(bytes.subarray(0, length)).isFine && !/^\s*$/.test(bytes.toString('latin1', length)), false,
      )
    }
    for (const more of ['\0', ' ', '\n', '\ufeff', '{}', ',', ']', '\x1e']) {
      compare(Buffer.concat([bytes, Buffer.from(more)]))
    }
    compare(Buffer.concat([Buffer.from('\ufeff'), bytes]))
  }
})

t.test('nesting up to the limit is read alike, and beyond it', async t => {
  const nested = (depth: number) =>
    Buffer.from(
      `{"jsonrpc":"2.0","id":1,"result":{"content":[],"structuredContent":${'['.repeat(depth)}${']'.repeat(depth)}}}`,
    )
  t.strictSame([9, 10, 11, 12].map(depth => compare(nested(depth)).isFine), [true, true, false, false])
})

t.test('what was read before is forgotten: texts that come in turns are judged as if they were alone', async () => {
  const random = new Random(5)
  const texts = Array.from({ length: 60 }, () => Buffer.from(answer(random)))
  const frames = texts.map(bytes => parseFrame(bytes, limits))
  for (const [index, frame] of frames.entries()) {
    const bytes = texts[index] ?? Buffer.alloc(0)
    assert.deepEqual(frame.message, parseFrame(bytes, { ...limits, judgedBytes: 0 }).message)
  }
})

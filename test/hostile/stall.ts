import { existsSync, readFileSync } from 'node:fs'
import { setImmediate } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { Checked, Subject } from '#relay/core/vocabulary.js'
import { field, type Data, type DataObject } from '#relay/protocol/unmetered.js'
import { parseFrame } from '#relay/protocol/parse.js'
import { textOf } from '#relay/protocol/read-fast.js'
import { createSchemaChecker } from '#relay/schema/index.js'

/** The contract's limits. */
export const limits = { schemaBytes: 262144, schemaDepth: 64, subschemas: 5000, validationMs: 100 }

export const many = <Item>(count: number, make: (index: number) => Item): Item[] =>
  Array.from({ length: count }, (_, index) => make(index))
export const members = (count: number, make: (index: number) => Data): DataObject =>
  Object.fromEntries(many(count, index => [`k${index}`, make(index)]))
export const nested = (depth: number, wrap: (inner: Data) => Data, inner: Data = {}): Data =>
  depth === 0 ? inner : nested(depth - 1, wrap, wrap(inner))
export const json = (text: string): Data => JSON.parse(text) as Data
export const schema = (one: Data): Subject => ({ kind: 'schema', schema: one, path: '' })
/** A value with its bytes, as the relay has it from a frame. */
export const value = (one: DataObject | boolean, of: Data): Subject => ({
  kind: 'value', schema: one, value: of, path: '',
  source: { bytes: Buffer.from(JSON.stringify(of)), path: [] },
})

/** A name, the question, and what kinds of answer are right; the empty one stands for no problem. */
export type Case = readonly [string, () => Subject, readonly string[]]

const innocent =
  value({ type: 'object', properties: { name: { type: 'string' } }, required: ['name'] }, { name: 'Ada' })
const neighbour = value({ pattern: '^(?=A)A[a-z]+$' }, 'Ada')

const schedule = '/proc/self/schedstat'

/**
 * Time of the main thread, in milliseconds: what it had of a processor, where the system tells (in
 * nanoseconds); what others do to the machine does not count.
 */
const elapsed = existsSync(schedule)
  ? () => Number(readFileSync(schedule, 'latin1').split(' ')[0]) / 1e6
  : () => performance.now()

/** The longest turn of the event loop while a question is answered, in milliseconds, and the answer. */
const ask = async (subject: Subject) => {
  const checker = createSchemaChecker(limits)
  checker.warm()
  await checker.check(neighbour)
  await setImmediate()
  let stall = 0
  let before = elapsed()
  const progress = { answered: false }
  const asked = Promise.all<Checked | Promise<Checked>>([
    checker.check(subject), checker.check(innocent), checker.check(neighbour),
  ]).finally(() => (progress.answered = true))
  while (!progress.answered) {
    await setImmediate()
    const now = elapsed()
    stall = Math.max(stall, now - before)
    before = now
  }
  const answers = await asked
  await checker.close()
  return { answers, stall }
}

const work = JSON.stringify(many(10_000, id => ({ id, name: `name ${id}`, tags: ['a', 'b', `${id}`] })))
/** The time that parsing `work` takes where a step of the engine takes its 10 ns, in milliseconds. */
const workMs = 4

/** How much slower this machine is now: other processes share its caches and its cores. At least 1. */
const slowness = (): number => {
  const before = elapsed()
  JSON.parse(work)
  return Math.max(1, (elapsed() - before) / workMs)
}

/** The best of a few attempts: what another process does to this one's time is not the checker's. */
const attempts = 5
const longestStall = 100

/** One test for each case: it is answered, and nobody else is held up. */
export const judge = (cases: readonly Case[]): void => {
  for (const [name, make, kinds] of cases) {
    t.test(`${name}: answered, and nobody else is held up`, t => judgeOne(t, make, kinds))
  }
}

const judgeOne = async (t: Test, make: () => Subject, kinds: readonly string[]): Promise<void> => {
  await judgeWay(t, make, kinds)
  const read = make()
  if (unparsed(read) !== undefined) await judgeWay(t, () => unparsed(make()) ?? read, kinds)
}

/** The value as it is in a frame, where it is judged from its bytes; undefined where it is parsed at once. */
const unparsed = (subject: Subject): Subject | undefined => {
  if (subject.kind !== 'value' || typeof subject.value !== 'object') return undefined
  const result = { content: [], structuredContent: subject.value }
  const { message } = parseFrame(
    Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, result })), { messageBytes: 1 << 24, depth: 1000 },
  )
  const structured = message.kind === 'result' ? field(message.result, 'structuredContent') : undefined
  return structured === undefined
    || textOf(structured) === undefined ? undefined : { ...subject, value: structured }
}

const judgeWay = async (t: Test, make: () => Subject, kinds: readonly string[]): Promise<void> => {
  let best = Infinity
  for (let attempt = 0; attempt < attempts && best >= longestStall; attempt++) {
    // Each attempt is on its own: nothing that was cached makes a later one quicker.
    const { answers: [answer, beside, queued], stall } = await ask(make())
    best = Math.min(best, stall / slowness())
    t.ok(
      kinds.includes(answer?.[0]?.kind ?? ''),
      `${answer?.[0]?.kind ?? 'no problem'} ${answer?.[0]?.message ?? ''}`,
    )
    t.strictSame(beside, [], 'an innocent check beside it')
    t.strictSame(queued, [], 'one that waits for the same thread')
  }
  t.ok(best < longestStall, `longest stall ${best.toFixed(1)} ms`)
}

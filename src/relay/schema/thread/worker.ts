import { parentPort } from 'node:worker_threads'
import type { SchemaProblem, Source } from '#relay/core/vocabulary.js'
import { below } from '#relay/protocol/json-schema.js'
import { parseData, unmetered, type Data } from '#relay/protocol/unmetered.js'
import { Budget, Exhausted, stepsPerCharacter, stepsPerMs } from '../budget.js'
import { unchecked, verdict, workerDepth, type SchemaReading } from '../evaluate.js'
import { Plans, type Plan, type SchemaText } from '../plans.js'
import { read, unusable } from '../read/read.js'

/** A message to the worker thread: to read a schema, and to validate a value. */
export interface WorkerOrder {
  readonly id: number
  readonly schema: SchemaText
  /** Undefined to read the schema only. */
  readonly value: Source | undefined
  readonly subschemas: number
  /** The budget of each of the two, in milliseconds. */
  readonly ms: number
}

/** The result of an order. */
export interface Answer {
  readonly problems: readonly SchemaProblem[]
  /** No verdict, because matching a pattern took too long or the thread ended. */
  readonly overran?: boolean
}

/** A message from the worker thread. */
export interface Report extends Answer {
  readonly id: number
}

const plans = new Plans()

const tooDear = (message: string): SchemaReading => unusable([{ kind: 'cost', path: '', message }])

/** The main thread read the value before, so that its text is JSON. */
const parsed = (text: string): Data => {
  const value = parseData(text)
  if (value === undefined) throw new TypeError('the text is not JSON')
  return value
}

const valueAt = (whole: Data, path: Source['path']): Data => {
  let value: Data | undefined = whole
  for (const step of path) value = unmetered(below(value, String(step)))
  return value === undefined ? {} : value
}

/** A schema that exceeds the budget also gives a `Reading`, so that this result is cached as well. */
const readWithin = ({ schema, subschemas }: WorkerOrder, budget: Budget): SchemaReading => {
  try {
    return read(parsed(schema.text), subschemas, budget, workerDepth)
  } catch (error) {
    if (error instanceof Exhausted) return tooDear(error.message || 'takes too long to be read')
    if (error instanceof RangeError) return tooDear('is nested too deep to be read')
    throw error
  }
}

const planOf = (task: WorkerOrder): Plan & { readonly reading: SchemaReading } => {
  const known = plans.get(task.schema.digest)
  if (known?.reading !== undefined) return { ...known, reading: known.reading }
  const budget = new Budget(task.ms * stepsPerMs)
  const plan = { ...task.schema, reading: readWithin(task, budget) }
  plans.keep(plan, budget.kept)
  return plan
}

const validate = (task: WorkerOrder, { bytes, path }: Source): Answer => {
  const text = Buffer.from(bytes.buffer).toString()
  const plan = planOf(task)
  const budget = new Budget(task.ms * stepsPerMs + text.length * stepsPerCharacter, true)
  try {
    return { problems: verdict(plan.reading, valueAt(parsed(text), path), budget, workerDepth) }
  } catch (error) {
    if (!(error instanceof Exhausted)) return { problems: unchecked(': too deep, or beyond the engine') }
    // Other values may be waiting for the same pattern.
    if (error.pattern !== undefined) error.pattern.overran = true
    return { problems: unchecked(` within ${task.ms} ms`), overran: error.pattern !== undefined }
  } finally {
    plans.grew(plan, budget.kept)
  }
}

parentPort?.on('message', (order: WorkerOrder) => {
  const { id, value } = order
  const answer = value === undefined ? { problems: planOf(order).reading.problems } : validate(order, value)
  parentPort?.postMessage({ id, ...answer } satisfies Report)
})

import { createHash } from 'node:crypto'
import type {
  Checked, SchemaChecker, SchemaLimits, SchemaProblem, Source, Subject, ValueSubject,
} from '#relay/core/vocabulary.js'
import { isList, isRecord, unmetered, type Data, type DataObject } from '#relay/protocol/unmetered.js'
import { byteValidator, checkedOf, parsedOf, stepsOfReading, textOf } from '#relay/protocol/read-fast.js'
import { turns } from '#relay/protocol/turns.js'
import { Budget, Exhausted, mainThreadBytes, mainThreadSteps } from './budget.js'
import { mainThreadDepth, unchecked, verdict, type SchemaReading, type ReadSchema } from './evaluate.js'
import { Plans, type Plan, type SchemaText } from './plans.js'
import { read as readSchema } from './read/read.js'
import { type Table, TableWriter } from './table/table.js'
import { Offload } from './thread/offload.js'

/** A `SchemaChecker` that can start its worker thread ahead. */
export interface WarmableChecker extends SchemaChecker {
  /** Starts the worker thread while there is nothing else to do. */
  warm(): void
}

/** The engine for untrusted schemas. Cheap checks are answered synchronously; none throws or rejects. */
export const createSchemaChecker = (limits: SchemaLimits): WarmableChecker => new Checker(limits)

type Problems = readonly SchemaProblem[]

const fine: Problems = []

/**
 * To make a table costs as much as to evaluate this many bytes of values without one, mostly for the automata
 * of patterns. So it is made when these bytes were evaluated, or come at once (docs/speed.md).
 */
const worthBytes = 128 * 1024
/** Steps of making a table for each small value, about a millisecond. */
const stepsOfSlice = 100_000

/** A table that is not made yet. */
interface Making {
  /** Bytes of values that were evaluated. */
  seen: number
  readonly budget: Budget
  writer: TableWriter | undefined
}

let checkers = 0

class Checker implements WarmableChecker {
  readonly #name = `${++checkers}`
  readonly #offload: Offload
  readonly #plans = new Plans()
  /** What the byte validator checks by, for each schema. */
  readonly #tables = new WeakMap<ReadSchema, Table | 'none' | Making>()
  /** The digest of each schema object that was seen before, which is not measured again. */
  readonly #digests = new WeakMap<DataObject, string>()

  constructor(private readonly limits: SchemaLimits) {
    this.#offload = new Offload(limits)
  }

  check(subject: Subject, session = ''): Checked | Promise<Checked> {
    // A value that was checked while it was read needs no turn.
    if (turns.isOpen || (subject.kind === 'value' && checkedOf(subject.value)?.isValid === true)) {
      return this.#check(subject, session)
    }
    return turns.later(`${this.#name} ${session}`, () => this.#check(subject, session))
  }

  tableOf(schema: DataObject | boolean, length: number): Table | undefined {
    const plan = this.#planOf(unmetered(schema))
    if ('over' in plan || plan.reading?.schema === undefined) return undefined
    const table = this.#tableOf(plan, plan.reading.schema, length)
    return table === 'none' ? undefined : table
  }

  warm(): void {
    this.#offload.warm()
  }

  close(): Promise<void> {
    return this.#offload.close()
  }

  /** Fails closed: when a check crashes, the value counts as unchecked. */
  #check(subject: Subject, session: string): Checked | Promise<Checked> {
    try {
      const found = subject.kind === 'schema'
        ? this.#listed(unmetered(subject.schema), session)
        : this.#validate(unmetered(subject.schema), unmetered(subject.value), subject, session)
      if (found instanceof Promise) return found.then(problems => atPath(subject, problems))
      return atPath(subject, found)
    } catch {
      return atPath(subject, unchecked(': beyond the engine'))
    }
  }

  #listed(schema: Data, session: string): Problems | Promise<Problems> {
    const plan = this.#planOf(schema)
    if ('over' in plan) return [{ kind: 'cost', path: '', message: plan.over }]
    return plan.reading?.problems
      ?? this.#offload.check(plan, undefined, session).then(({ problems }) => problems)
  }

  #validate(
    schema: DataObject | boolean, value: Data, { source }: ValueSubject, session: string,
  ): Problems | Promise<Problems> {
    const plan = this.#planOf(schema)
    if ('over' in plan) return unchecked(`: the schema ${plan.over}`)
    const { reading } = plan
    const text = textOf(value)
    if (text !== undefined) {
      if (reading?.schema !== undefined && this.#isSurelyValid(plan, reading.schema, text, value)) return fine
      // A long text would exceed the budget of this thread: the worker parses it.
      if (reading === undefined || text.length > mainThreadBytes) {
        return this.#offloaded(plan, { bytes: text, path: [] }, session)
      }
    }
    const parsed = unmetered(parsedOf(value))
    const sourceOf = (): Source =>
      source ?? { bytes: Buffer.from(JSON.stringify(parsed, asFinite)), path: [] }
    if (reading === undefined) return this.#offloaded(plan, sourceOf(), session)
    turns.spend(text?.length ?? 0)
    const budget = new Budget(mainThreadSteps)
    try {
      return verdict(reading, parsed, budget, mainThreadDepth)
    } catch (error) {
      return this.#offloaded(plan, sourceOf(), session, tooMuch(error).pattern)
    } finally {
      turns.spend(mainThreadSteps - budget.left)
      this.#plans.grew(plan, budget.kept)
    }
  }

  /** Asks the byte validator about a value that is not parsed. */
  #isSurelyValid(plan: Plan, schema: ReadSchema, text: Buffer, value: Data): boolean {
    const checked = checkedOf(value)
    const table = this.#tableOf(plan, schema, checked === undefined ? text.length : 0)
    if (checked !== undefined && checked.table === table) return checked.isValid
    turns.spend(stepsOfReading(text))
    return table instanceof Buffer && byteValidator.isSurelyValid(text, table, steps => turns.spend(steps))
  }

  /**
   * A schema has no table when the table would be too large, or too much work.
   * @param bytes of the value that it is asked for
   * @returns undefined while it is not made
   */
  #tableOf(plan: Plan, schema: ReadSchema, bytes: number): Table | 'none' | undefined {
    const known = this.#tables.get(schema)
      ?? { seen: 0, budget: new Budget(mainThreadSteps), writer: undefined }
    if (known === 'none' || !('seen' in known)) return known
    this.#tables.set(schema, known)
    if ((known.seen += bytes) < worthBytes) return undefined
    const { budget } = known
    const { left, kept } = budget
    let table: Table | 'none' | undefined = 'none'
    try {
      known.writer ??= new TableWriter(schema.root, budget)
      const isDone = known.writer.advance(bytes < worthBytes ? left - stepsOfSlice : -Infinity)
      table = isDone ? (known.writer.table ?? 'none') : undefined
    } catch (error) {
      tooMuch(error)
    }
    turns.spend(left - budget.left)
    this.#plans.grew(plan, budget.kept - kept)
    if (table !== undefined) this.#tables.set(schema, table)
    return table
  }

  /** @param pattern exhausted the budget here. When it overruns on the worker too, it is refused later */
  async #offloaded(
    plan: Plan, value: Source, session: string, pattern?: Exhausted['pattern'],
  ): Promise<Problems> {
    const { validationMs } = this.limits
    if (pattern?.overran === true) {
      return unchecked(`: it meets a pattern that took more than ${validationMs} ms before`)
    }
    const { problems, overran } = await this.#offload.check(plan, value, session)
    if (pattern !== undefined && overran === true) pattern.overran = true
    return problems
  }

  /** Reads a schema when it is listed or first used. @returns the plan, or the exceeded limit in words */
  #planOf(schema: Data): Plan | { readonly over: string } {
    const known = isRecord(schema) ? this.#plans.get(this.#digests.get(schema) ?? '') : undefined
    if (known !== undefined) return known
    const measured = measure(schema, this.limits)
    turns.spend('over' in measured ? this.limits.schemaBytes : measured.text.length)
    if ('over' in measured) return measured
    const digest = createHash('sha256').update(measured.text).digest('base64')
    if (isRecord(schema)) this.#digests.set(schema, digest)
    return this.#plans.get(digest) ?? this.#read(schema, { digest, ...measured })
  }

  #read(schema: Data, text: SchemaText): Plan {
    const budget = new Budget(mainThreadSteps)
    let reading: SchemaReading | undefined
    try {
      reading = readSchema(schema, this.limits.subschemas, budget, mainThreadDepth)
    } catch (error) {
      tooMuch(error)
    }
    turns.spend(mainThreadSteps - budget.left)
    return this.#plans.keep({ ...text, reading }, budget.kept)
  }
}

/** JSON has no word for Infinity, which a number beyond doubles becomes. */
const asFinite = (_: string, value: unknown): unknown =>
  (value === Infinity ? Number.MAX_VALUE : value === -Infinity ? -Number.MAX_VALUE : value)

/** The main thread ran out of steps or native stack. @throws any other error */
const tooMuch = (error: unknown): Exhausted => {
  if (error instanceof Exhausted) return error
  if (error instanceof RangeError) return new Exhausted()
  throw error
}

/** Makes paths relative to the frame. A schema that could not be checked costs too much. */
const atPath = ({ kind, path }: Subject, problems: Problems): Checked => {
  if (problems.length === 0) return problems
  const otherwise = kind === 'schema' ? 'cost' : 'unchecked'
  return problems.map(problem => (
    { ...problem, kind: problem.kind === 'unchecked' ? otherwise : problem.kind, path: path + problem.path }))
}

/** A schema's JSON text and its memory, text and values together; or the limit that it exceeds, in words. */
type Measured = { readonly text: string; readonly held: number } | { readonly over: string }

/** Estimated memory for one value, including its slot in an array or object. */
const bytesOfValue = 60

/** Stops reading a schema where it exceeds a limit. */
const measure = (schema: Data, limits: SchemaLimits): Measured => {
  const tooLong = { over: `is longer than ${limits.schemaBytes} bytes` }
  let [bytes, values] = [limits.schemaBytes, 0]
  const take = (count: number): boolean => (bytes -= count) >= 0
  // True if depth and minimal length are within the limits. Each character counts as one byte.
  const fits = (value: Data, depth: number): boolean => {
    values++
    if (typeof value === 'string') return take(value.length + 2)
    if (isList(value)) {
      return depth > 0 && take(1 + Math.max(1, value.length)) && value.every(item => fits(item, depth - 1))
    }
    if (!isRecord(value)) return take(1)
    const keys = Object.keys(value)
    // Keys, not entries: values are read only while there are bytes left.
    return depth > 0 && take(1 + Math.max(1, 2 * keys.length))
      && keys.every(key => take(key.length + 2) && fits(value[key] ?? null, depth - 1))
  }
  if (!fits(schema, limits.schemaDepth)) {
    return bytes < 0 ? tooLong : { over: `is nested deeper than ${limits.schemaDepth}` }
  }
  // Escapes and characters beyond ASCII may still make it too long.
  const text = JSON.stringify(schema)
  if (Buffer.byteLength(text) > limits.schemaBytes) return tooLong
  return { text, held: 2 * text.length + bytesOfValue * values }
}

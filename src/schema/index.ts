import type { Checked, SchemaChecker, SchemaLimits, SchemaProblem, Subject } from '../core/check.js'
import type { Json, JsonObject } from '../protocol/json.js'
import { measure } from './bounds.js'
import { mainThread, Spent } from './evaluate/run.js'
import { inspect } from './inspect.js'
import { judge } from './judge.js'
import { Offload } from './offload.js'
import { mostAtOnce, Plans, type Kept } from './plans.js'
import { Turns } from './turns.js'
import { weigh } from './weigh.js'

/** The main thread's allowance in milliseconds, for a machine that is busy, or for code that is not yet optimised. */
const mainThreadMs = 30
/** Counting further would only tell one very large value from another. */
const mostWeighed = 1_000_000

/** A `SchemaChecker` that can be told to get ready. */
export interface WarmableChecker extends SchemaChecker {
  /** Starts the worker thread while there is nothing else to do. */
  warm(): void
}

/** The engine for untrusted schemas. It answers at once where that is cheap; it never throws and never rejects. */
export const createSchemaChecker = (limits: SchemaLimits): WarmableChecker => new Checker(limits)

type Found = readonly SchemaProblem[] | Promise<readonly SchemaProblem[]>

class Checker implements WarmableChecker {
  readonly #limits: SchemaLimits
  readonly #plans: Plans
  readonly #offload: Offload
  readonly #turns = new Turns()

  constructor(limits: SchemaLimits) {
    this.#limits = limits
    this.#plans = new Plans(limits)
    this.#offload = new Offload(limits)
  }

  check(subject: Subject): Checked | Promise<Checked> {
    const { path } = subject
    return subject.kind === 'schema'
      ? placed(path, 'cost', this.#turns.run(() => guarded(() => this.#inspect(subject.schema))))
      : placed(path, 'unchecked', guarded(() => this.#validate(subject.schema, subject.value)))
  }

  warm(): void {
    this.#offload.warm()
  }

  close(): Promise<void> {
    return this.#offload.close()
  }

  #inspect(schema: Json): Found {
    const measured = measure(schema, this.#limits)
    if ('over' in measured) return [{ kind: 'cost', path: '', message: measured.over }]
    return measured.bytes > mostAtOnce ? this.#offload.inspect(schema) : inspect(schema, this.#limits.subschemas).problems
  }

  #validate(schema: JsonObject | boolean, value: Json): Found {
    const kept = this.#plans.of(schema)
    if (typeof kept === 'string') return [unchecked(`could not be judged: the schema ${kept}`)]
    return this.#atOnce(kept, value) ?? this.#offload.judge(kept.text, value)
  }

  /** The verdict when it is cheap; undefined when it is not. */
  #atOnce(kept: Kept, value: Json): readonly SchemaProblem[] | undefined {
    if (kept.plan === undefined) return undefined
    // A value as large as one that was too much before is not tried again.
    if (kept.slowFrom < Infinity && weigh(value, kept.slowFrom) >= kept.slowFrom) return undefined
    const { acceptor } = kept.plan
    if (acceptor.accepts(value)) return nothing
    if (acceptor.spent) return undefined
    try {
      return judge(kept.plan, value, { ...mainThread, anyPattern: false, deadline: performance.now() + mainThreadMs })
    } catch (error) {
      // RangeError: the native stack. The worker thread has more of it.
      if (!(error instanceof Spent || error instanceof RangeError)) throw error
      // Having run out of time says more of the machine than of the value.
      if (!(error instanceof Spent && error.late)) kept.slowFrom = Math.min(kept.slowFrom, weigh(value, mostWeighed))
      return undefined
    }
  }
}

/** Fail closed: a check that crashed is a problem of its own. */
const guarded = (work: () => Found): Found => {
  try {
    return work()
  } catch {
    return [unchecked('could not be judged: beyond the engine')]
  }
}

const nothing: readonly SchemaProblem[] = []

const unchecked = (message: string): SchemaProblem => ({ kind: 'unchecked', path: '', message })

/**
 * Problems at their place in the frame.
 * @param otherwise the kind of those for which no verdict was possible: a schema that cannot be inspected costs too much
 */
const placed = (path: string, otherwise: 'cost' | 'unchecked', found: Found): Checked | Promise<Checked> =>
  found instanceof Promise
    ? found.then(problems => placed(path, otherwise, problems))
    : found.map(problem => ({
        ...problem,
        kind: problem.kind === 'unchecked' ? otherwise : problem.kind,
        path: path + problem.path,
      }))

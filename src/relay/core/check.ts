import type { Json, JsonObject } from '#relay/protocol/json.js'
import type { Output } from './core.js'
import type { Exchange } from './event.js'
import type { Flow } from './flow.js'
import type { RelayOptions } from './options.js'
import type { Replies } from './order.js'

/** A check for `schema/`: pure data, so that the engine may run in another thread. */
export type Subject =
  /** Whether this schema is usable: checked when a tool is listed. */
  | { readonly kind: 'schema'; readonly schema: Json; readonly path: string }
  | ValueSubject

/** Whether the value matches the schema. */
export interface ValueSubject {
  readonly kind: 'value'
  readonly schema: JsonObject | boolean
  readonly value: Json
  readonly path: string
  /** Where a frame has the value, so that another thread can read it there. */
  readonly source?: Source | undefined
}

/** A JSON text, and the steps that lead to a value in it. */
export interface Source {
  readonly bytes: Uint8Array
  readonly path: readonly (string | number)[]
}

export interface SchemaProblem {
  /**
   * schema: not valid in its dialect, dialect unknown, `$ref` unresolved; external-ref: a `$ref` to a file or
   * the network; cost: over the limits; mismatch: the value breaks the schema; format: the value breaks only
   * `format` assertions; unchecked: no verdict was possible (does not compile, budget spent, the engine
   * failed).
   */
  readonly kind: 'schema' | 'external-ref' | 'cost' | 'mismatch' | 'format' | 'unchecked'
  /** JSON Pointer into the frame, at or below the subject's path; parts from the wire are quoted. */
  readonly path: string
  /** Names the keyword; holds no text from the wire. */
  readonly message: string
}

/** The problems that a check found: none, or at most 20. */
export type Checked = readonly SchemaProblem[]

/** The schema engine. The result comes at once when the check is provably cheap, else as a promise. */
export interface SchemaChecker {
  /** @param session checks of different sessions take turns: none waits for all checks of another session */
  check(subject: Subject, session?: string): Checked | Promise<Checked>
  /** The schema in the form in which the reader of frames checks by it (`FrameLimits`), if it has one. */
  tableOf?(schema: JsonObject | boolean, length: number): Buffer | undefined
  close(): Promise<void>
}

export interface SchemaLimits {
  /** Longest JSON text of a schema. */
  readonly schemaBytes: number
  readonly schemaDepth: number
  readonly subschemas: number
  /** Longest validation, in milliseconds of an idle machine. */
  readonly validationMs: number
}

/** The schema checks that flows wait for. */
export class Checks {
  readonly #checkNow: RelayOptions['checkNow']
  readonly #output: Output
  readonly #replies: Replies<readonly Checked[]>

  constructor({ checkNow }: RelayOptions, output: Output, replies: Replies<readonly Checked[]>) {
    this.#checkNow = checkNow
    this.#output = output
    this.#replies = replies
  }

  /** One result for each subject, at once for cheap checks. @param exchange of the judged message */
  *check(subjects: readonly Subject[], exchange: Exchange): Flow<readonly Checked[]> {
    const immediate = subjects.map(this.#checkNow)
    if (immediate.every(isDone)) return immediate
    const later = yield* this.#wait(subjects.filter((_, index) => immediate[index] === undefined), exchange)
    let next = 0
    return immediate.map((result, index) => result ?? later[next++] ?? unchecked(subjects[index]))
  }

  /** Lets other sessions run: a check without subjects. */
  *yieldToLoop(exchange: Exchange): Flow {
    yield* this.#wait([], exchange)
  }

  done(check: number, results: readonly Checked[]): void {
    this.#replies.arrived(check, results)
  }

  #wait(subjects: readonly Subject[], exchange: Exchange): Flow<readonly Checked[]> {
    return this.#replies.to(check => this.#output.emit({ type: 'check', check, subjects }), exchange)
  }
}

const isDone = (result: Checked | undefined): result is Checked => result !== undefined

/** Used when the engine returns too few results. */
const unchecked = (subject: Subject | undefined): Checked => [
  { kind: 'unchecked', path: subject?.path ?? '', message: 'the engine gave no verdict' },
]

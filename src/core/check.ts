import type { Json, JsonObject } from '../protocol/json.js'

/** What `schema/` is asked: pure data, so that an engine may answer from another thread. */
export type Subject =
  /** Is this a schema that can be used? Asked when a tool is listed. */
  | { readonly kind: 'schema'; readonly schema: Json; readonly path: string }
  /** Does the value match the schema? */
  | { readonly kind: 'value'; readonly schema: JsonObject | boolean; readonly value: Json; readonly path: string }

/** One thing that an inspection or a validation found. */
export interface SchemaProblem {
  /**
   * schema: not valid in its dialect, dialect unknown, `$ref` unresolved; external-ref: a `$ref` to a file or the network;
   * cost: over the limits; mismatch: the value breaks the schema; format: the value breaks only `format` assertions;
   * unchecked: no verdict was possible (does not compile, budget spent, the engine failed).
   */
  readonly kind: 'schema' | 'external-ref' | 'cost' | 'mismatch' | 'format' | 'unchecked'
  /** JSON Pointer into the frame: the subject's path and what lies below it; parts from the wire already quoted. */
  readonly path: string
  /** Ours; names the keyword. */
  readonly message: string
}

/** What came of a check: nothing wrong, or at most 20 problems. */
export type Checked = readonly SchemaProblem[]

/** The engine, as the core's rim sees it: an answer at once where that is provably cheap, a promise where it is not. */
export interface SchemaChecker {
  /** @param session on whose behalf: sessions take turns, so that none waits for all that another has checked */
  check(subject: Subject, session?: string): Checked | Promise<Checked>
  close(): Promise<void>
}

export interface SchemaLimits {
  /** Of the schema's JSON text. */
  readonly schemaBytes: number
  readonly schemaDepth: number
  readonly subschemas: number
  /** Longest validation, in milliseconds' worth of work on an idle machine. */
  readonly validationMs: number
}

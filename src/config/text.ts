import type { Json } from '../protocol/unmetered.js'
import type { Keys } from './problem.js'

/** Deepest nesting of a file: far beyond any that a person writes, far below the end of the stack. */
export const deepest = 200

/** Counted from 1. */
export interface Place {
  readonly line: number
  readonly column: number
}

/** What a text says. */
export interface Text {
  readonly data: Json
  /** Where a key stands, or an element of a list; of what is not there, the nearest that holds it. */
  readonly placeOf: (keys: Keys) => Place | undefined | Promise<Place | undefined>
}

/** A text that is not JSON or YAML, or not data, and where. */
export class SyntaxProblem extends Error {
  override readonly name = 'SyntaxProblem'
  constructor(
    reason: string,
    /** Undefined when it is wrong as a whole. */
    readonly place?: Place,
  ) {
    super(reason)
  }
}

export const placeAt = (source: string, offset: number): Place => {
  const before = source.slice(0, offset).split('\n')
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 }
}

/** Deepest nesting of a file: far beyond any that a person writes, far below the end of the stack. */
export const deepest = 200

/** Counted from 1. */
export interface Place {
  readonly line: number
  readonly column: number
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

/** What can go wrong for the person at the keyboard, and the exit code it gives. */
export const codes = {
  BAD_USAGE: 2,
  BAD_CONFIG: 2,
  CANNOT_START: 2,
  CANNOT_REACH: 2,
  CANNOT_AUDIT: 2,
} as const

export type ErrorCode = keyof typeof codes

/** The one error class: a code from the table, and one clear line (what, where, what to do). */
export class CustomsError extends Error {
  override readonly name = 'CustomsError'
  constructor(
    readonly code: ErrorCode,
    message: string,
    options?: { cause?: unknown },
  ) {
    super(message, options)
  }

  get exitCode(): number {
    return codes[this.code]
  }
}

/** What can go wrong for the person at the keyboard, and the exit code it gives. */
export const codes = {
  BAD_USAGE: 2,
  BAD_CONFIG: 2,
  CANNOT_START: 2,
  CANNOT_REACH: 2,
  CANNOT_AUDIT: 2,
} as const

export type ErrorCode = keyof typeof codes

/**
 * The one error class: a code from the table, and one clear line (what, where, what to do), fit for a
 * terminal whatever names are in it.
 */
export class CustomsError extends Error {
  override readonly name = 'CustomsError'
  constructor(
    readonly code: ErrorCode,
    message: string,
    options?: { cause?: unknown },
  ) {
    super(visible(message), options)
  }

  get exitCode(): number {
    return codes[this.code]
  }
}

/** Ends the command with this line and exit code 2. @throws CustomsError BAD_USAGE */
export const badUsage = (reason: string): never => {
  throw new CustomsError('BAD_USAGE', reason)
}

/** What the system said: `ENOSPC`, `EACCES`, … */
export const codeOf = (cause: unknown): string =>
  cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown reason'

/** The error for a file that the system does not let us read. */
export const cannotRead = (code: ErrorCode, path: string, cause: unknown): CustomsError =>
  new CustomsError(code, `${path}: cannot be read (${codeOf(cause)})`, { cause })

/** Anything that was thrown, as an Error. */
export const asError = (thrown: unknown): Error =>
  thrown instanceof Error ? thrown : new Error(String(thrown))

/** The message of anything that was thrown. */
export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/**
 * The text with nothing in it that a terminal could obey or a person would not see: such characters stand as
 * in JSON, `\u001b`.
 */
export const visible = (text: string): string =>
  /^[\x20-\x7e]*$/.test(text) ? text : text.replace(unseen, character => [...Array(character.length).keys()]
    .map(at => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`).join(''))

// A letter with more marks than these climbs over the lines around it.
const unseen = /(?! )[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}]|(?<=\p{M}{3})\p{M}/gu

/** A command line that can be copied into a shell. */
export const wordsText = (words: readonly string[]): string =>
  words.map(word => (/^[\w@%+=:,./\\-]+$/.test(word) ? word : visible(JSON.stringify(word)))).join(' ')

/**
 * A file's name as commands print it: quoted where it could be taken for more than a name, such as a verdict
 * on another file.
 */
export const pathText = (path: string): string => {
  const shown = visible(path)
  return shown === path && !/: |^"|^ | $|^$/.test(path) ? path : `"${shown}"`
}

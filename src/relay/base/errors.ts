/** What can go wrong for the person at the keyboard, and the exit code it gives. */
export const codes = {
  BAD_USAGE: 2,
  BAD_CONFIG: 2,
  /** A server is not the one that was accepted, or none was. */
  NOT_ACCEPTED: 2,
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

/** Errors of the system in plain words, with what to do about them. */
const systemErrors: ReadonlyMap<string, string> = new Map([
  ['ENOENT', 'there is no such file or folder'],
  ['ENOTDIR', 'a part of the path is a file, and no folder'],
  ['EISDIR', 'it is a folder: name a file'],
  ['EEXIST', 'it is there already'],
  ['EACCES', 'no permission: see who owns it, and its mode'],
  ['EPERM', 'the system does not permit it'],
  ['EROFS', 'the file system is read-only: name a place elsewhere'],
  ['ENOSPC', 'the disk is full: make room'],
  ['EDQUOT', 'the disk quota is used up: make room'],
  ['EFBIG', 'the file would be longer than the system allows'],
  ['EMFILE', 'too many files are open: raise the limit (ulimit -n)'],
  ['ENFILE', 'too many files are open on this machine'],
  ['ENAMETOOLONG', 'the name is too long'],
  ['ELOOP', 'its links lead in a circle'],
  ['EBUSY', 'another program uses it'],
  ['EINVAL', 'the system does not accept it'],
  ['EIO', 'the disk or device failed'],
  ['EADDRINUSE', 'the address is in use: end the program that listens there, or choose another port'],
  [
    'EADDRNOTAVAIL',
    'this machine has no such address: 127.0.0.1 is for itself alone, 0.0.0.0 for all networks',
  ],
  ['EAFNOSUPPORT', 'this machine has no addresses of that kind (IPv4 or IPv6)'],
  ['ENOTFOUND', 'no such host is known: check the name'],
  ['EAI_AGAIN', 'the name could not be looked up: check the network'],
  ['ECONNREFUSED', 'nobody listens there: check the port, or start the program'],
])

/** What the system said, in words: `there is no such file or folder (ENOENT)`. */
export const reasonOf = (cause: unknown): string => {
  const code = codeOf(cause)
  const words = systemErrors.get(code)
  return words === undefined ? code : `${words} (${code})`
}

/** Why nothing can listen at an address. @param port undefined for a socket file */
export const cannotListen = (name: string, port: number | undefined, cause: unknown): CustomsError => {
  const isReserved = codeOf(cause) === 'EACCES' && port !== undefined && port < 1024
  const reason = isReserved ? 'ports below 1024 need root: choose a higher one (EACCES)' : reasonOf(cause)
  return new CustomsError('CANNOT_START', `${name}: ${reason}`, { cause })
}

/** The error for a file that the system does not let us read. An error of ours names the reason already. */
export const cannotRead = (code: ErrorCode, path: string, cause: unknown): CustomsError =>
  (cause instanceof CustomsError
    ? cause
    : new CustomsError(code, `${path}: cannot be read: ${reasonOf(cause)}`, { cause }))

/** The error for a file that the system does not let us write. */
export const cannotWrite = (code: ErrorCode, path: string, cause: unknown): CustomsError =>
  new CustomsError(code, `${path}: cannot be written: ${reasonOf(cause)}`, { cause })

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

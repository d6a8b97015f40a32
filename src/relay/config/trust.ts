import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { resolve } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { isLoopback } from '#relay/base/addresses.js'
import type { Environment } from '#relay/base/platform/machine.js'
import { readChecked } from './file.js'
import { isTrustList } from './generated/checks.js'
import type * as Written from './generated/types.js'
import { fail, type Keys } from './source.js'
import { isBroughtAlong, packageParts, startsPackage } from './trusted-package.js'

/** A server that the operator trusts. */
export type TrustEntry =
  | {
    /** The first words of the command, exactly. */
    readonly command: readonly string[]
    /** Hex digest of the file named by the last of these words. */
    readonly sha256?: string
  }
  /** `NAME@VERSION`. */
  | { readonly package: string }
  | { readonly url: string }

/**
 * A trust-list file: `{ trust: [ … ] }`.
 * @throws CustomsError BAD_CONFIG
 */
export const readTrustList = (file: string, environment: Environment): Promise<readonly TrustEntry[]> =>
  readChecked(file, environment, isTrustList, ({ trust }) => readTrust(trust))

export const readTrust = (written: Written.Trust = []): readonly TrustEntry[] =>
  written.map((entry, index) => readEntry(entry, ['trust', index]))

const readEntry = ({ command, sha256, package: spec, url }: Written.TrustEntry, keys: Keys): TrustEntry => {
  if (command !== undefined) return { command, ...(sha256 !== undefined && { sha256 }) }
  if (spec !== undefined) return { package: spec }
  if (url !== undefined && trustedPrefix(url)) return { url }
  const without = 'without user, query, fragment or encoded separators'
  return fail([...keys, 'url'], `must be an https URL (http on loopback only) ${without}`)
}

/** A server as the operator starts or reaches it. Its own `serverInfo` does not count. */
type Candidate =
  | {
    readonly command: readonly string[]
    /** The relay's own when absent. */
    readonly cwd?: string | undefined
    /** Variables that the operator adds to the process's environment. */
    readonly env?: ReadonlyMap<string, string> | undefined
  }
  | { readonly url: string }

/**
 * Whether the operator trusts this server. In doubt it is not trusted. A file is hashed now, not when it
 * runs: anyone who can write to it in between must be trusted anyway.
 */
export const isTrusted = async (server: Candidate, trust: readonly TrustEntry[]): Promise<boolean> => {
  for (const entry of trust) {
    if (await vouchesFor(entry, server)) return true
  }
  return false
}

const vouchesFor = async (entry: TrustEntry, server: Candidate): Promise<boolean> => {
  if ('url' in server) return 'url' in entry && isBelow(server.url, entry.url)
  if ('package' in entry) {
    const { name, version } = packageParts(entry.package)
    if (!startsPackage(server.command, entry.package, server.env)) return false
    return !(await isBroughtAlong(server.cwd ?? '.', name, version))
  }
  if (!('command' in entry)) return false
  // An empty list would be a prefix of every command.
  if (entry.command.length === 0) return false
  if (!entry.command.every((word, index) => server.command[index] === word)) return false
  return entry.sha256 === undefined || (await hasDigest(entry.command, server.cwd, entry.sha256))
}

/** Whether the file named by the last word, relative to the process's folder, has this digest. */
const hasDigest = async (
  words: readonly string[], cwd: string | undefined, digest: string,
): Promise<boolean> => {
  const last = words.at(-1)
  // A bare command is looked up in PATH: it names no fixed file.
  if (last === undefined || (words.length === 1 && !/[\\/]/.test(last))) return false
  return (await digestOf(resolve(cwd ?? '.', last))) === digest.toLowerCase()
}

const digestOf = async (file: string): Promise<string | undefined> => {
  try {
    // Opening a named pipe would block for ever otherwise.
    const handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK)
    try {
      if (!(await handle.stat()).isFile()) return undefined
      const hash = createHash('sha256')
      await pipeline(handle.createReadStream({ autoClose: false }), hash)
      return hash.digest('hex')
    } finally {
      await handle.close()
    }
  } catch {
    // A file that cannot be read is not trusted.
    return undefined
  }
}

/**
 * A URL that can be trusted as a prefix: https, or http on loopback, without user, query and fragment, and
 * with a path that all servers read alike.
 * @returns undefined for any other
 */
const trustedPrefix = (text: string): URL | undefined => {
  const url = readUrl(text)
  return url === undefined || url.search !== '' || url.hash !== '' ? undefined : url
}

/** Whether the URL is the prefix or below it, by whole path segments. */
const isBelow = (text: string, prefix: string): boolean => {
  const url = readUrl(text)
  const root = trustedPrefix(prefix)
  if (url === undefined || root === undefined || url.origin !== root.origin) return false
  const path = root.pathname.replace(/(?<!\/)\/+$/, '')
  return url.pathname === path || url.pathname.startsWith(`${path}/`)
}

const readUrl = (text: string): URL | undefined => {
  if (!URL.canParse(text)) return undefined
  const url = new URL(text)
  const safe = url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.hostname))
  const hasUser = url.username !== '' || url.password !== ''
  return safe && !hasUser && !isAmbiguous(url.pathname) ? url : undefined
}

// `URL` has resolved `..` and `%2e%2e`. Some servers resolve further spellings: encoded separators, dots and
// percent signs, and path parameters (`/..;/`).
const isAmbiguous = (path: string): boolean => /%(2e|2f|5c|25|00|3b)|\\|;|\/\.\.?(\/|$)/i.test(path)

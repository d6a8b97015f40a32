import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { resolve } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { isBroughtAlong } from './brought-package.js'
import type { TrustEntry } from './trust-list.js'
import { partsOf, startsPackage } from './trusted-package.js'
import { isBelow } from './trusted-url.js'

/** A server, as the operator starts or reaches it. What it says of itself (`serverInfo`) is no part of this. */
export type Candidate =
  | {
      readonly command: readonly string[]
      /** Of the process; the relay's own when absent. */
      readonly cwd?: string | undefined
      /** What the operator adds to the process's environment. */
      readonly env?: ReadonlyMap<string, string> | undefined
    }
  | { readonly url: string }

/**
 * Whether the operator vouches for this server. Whatever is not plainly on the list is not trusted. A file is hashed when it
 * is asked for, not when it runs: who may write to it in between must be trusted anyway.
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
    const { name, version } = partsOf(entry.package)
    return startsPackage(server.command, entry.package, server.env) && !(await isBroughtAlong(server.cwd ?? '.', name, version))
  }
  if (!('command' in entry)) return false
  // No words would be a prefix of everything.
  if (entry.command.length === 0 || !entry.command.every((word, index) => server.command[index] === word)) return false
  return entry.sha256 === undefined || (await hasDigest(entry.command, server.cwd, entry.sha256))
}

/** Of the file that the last word names, seen from where the process would run. */
const hasDigest = async (words: readonly string[], cwd: string | undefined, digest: string): Promise<boolean> => {
  const last = words.at(-1)
  // A bare command is looked up in PATH, which is no fixed file.
  if (last === undefined || (words.length === 1 && !/[\\/]/.test(last))) return false
  return (await digestOf(resolve(cwd ?? '.', last))) === digest.toLowerCase()
}

const digestOf = async (file: string): Promise<string | undefined> => {
  try {
    // A pipe in the file's place would otherwise hold us up for ever.
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
    return undefined
  }
}

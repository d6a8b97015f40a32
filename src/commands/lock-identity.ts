import { createHash } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { ServerConfiguration } from '../config/configuration.js'
import type { JsonObject } from '../protocol/json.js'
import { targetOf } from './inspection.js'

/**
 * Who a server is, in the operator's words: its command line, which names the package and its version, or its URL, without
 * secrets; and the digest of the program where that is a file of its own. What it says of itself proves nothing.
 */
export const identityOf = async (server: ServerConfiguration): Promise<JsonObject> => {
  if ('url' in server) return { url: targetOf(server) }
  const word = programOf(server.command)
  const digest = word === undefined ? undefined : await digestOfFile(resolve(server.cwd ?? '.', word))
  return { command: targetOf(server), ...(digest !== undefined && { sha256: digest }) }
}

const interpreters = /(?:^|[\\/])(?:node|bun|deno|python[\d.]*|ruby|php|perl|sh|bash)(?:\.exe)?$/

/** The word that names the program's own file. An interpreter is none: it is brought up to date without anybody's asking. */
const programOf = ([program = '', ...rest]: readonly string[]): string | undefined => {
  if (!interpreters.test(program)) return /[\\/]/.test(program) ? program : undefined
  const [first] = rest
  return first === undefined || first.startsWith('-') ? undefined : first
}

const digestOfFile = async (file: string): Promise<string | undefined> => {
  try {
    // A pipe in the file's place would hold us up for ever.
    if (!(await stat(file)).isFile()) return undefined
    return createHash('sha256').update(await readFile(file)).digest('hex')
  } catch {
    return undefined
  }
}

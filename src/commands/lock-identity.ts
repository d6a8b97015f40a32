import { createHash } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { ProcessServer, ServerConfiguration } from '../config/configuration.js'
import { equal, member, type JsonObject } from '../protocol/json.js'
import { packageOf } from './installed-package.js'
import { targetOf } from './server-target.js'

/**
 * Who a server is, in the operator's words: its command line or its URL, without secrets; the digest of the program where that is a
 * file of its own; and of an npm package, what npm noted when it fetched it, where that is on this machine. What it says of itself
 * proves nothing.
 */
export const identityOf = async (server: ServerConfiguration): Promise<JsonObject> => {
  if ('url' in server) return { url: targetOf(server) }
  const file = programOf(server)
  const digest = file === undefined ? undefined : await digestOfFile(file)
  const installed = await packageOf(server, file)
  return { command: targetOf(server), ...(digest !== undefined && { sha256: digest }), ...(installed && { package: installed }) }
}

/**
 * Who it is now, to be held against what was accepted. That nothing is known of a package is no change: that depends on the machine,
 * and on whether npx has fetched it yet.
 */
export const comparableIdentity = (accepted: JsonObject, { package: its, ...now }: JsonObject): JsonObject => {
  const known = member(accepted, 'package')
  return known === undefined ? now : { ...now, package: its ?? known }
}

/** Who it is now, to be accepted: what was known of its package stays where it is not known here. */
export const settledIdentity = (accepted: JsonObject, now: JsonObject): JsonObject =>
  equal(member(accepted, 'command'), member(now, 'command')) && member(accepted, 'package') !== undefined ? comparableIdentity(accepted, now) : now

const interpreters = /(?:^|[\\/])(?:node|bun|deno|python[\d.]*|ruby|php|perl|sh|bash)(?:\.exe)?$/

/** The program's own file. An interpreter is none: it is brought up to date without anybody's asking. */
const programOf = ({ command: [program, ...rest], cwd = '.' }: ProcessServer): string | undefined => {
  if (!interpreters.test(program)) return /[\\/]/.test(program) ? resolve(cwd, program) : undefined
  const [first] = rest
  return first === undefined || first.startsWith('-') ? undefined : resolve(cwd, first)
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

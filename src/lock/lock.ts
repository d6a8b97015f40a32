import { CustomsError } from '../errors.js'
import { isArray, isObject, isString, member, parseJson, type Json, type JsonObject } from '../protocol/json.js'
import { plainJson } from '../protocol/plain-json.js'
import type { Catalogue } from './compare.js'
import { Definitions, isIntact } from './definitions.js'
import { digestOf, hasDigest } from './digest.js'
import type { Frame } from './frame.js'

/** What was accepted of a server. */
export interface Accepted extends Catalogue {
  readonly tools: ReadonlyMap<string, JsonObject>
  readonly prompts: ReadonlyMap<string, JsonObject>
  readonly resourceTemplates: ReadonlyMap<string, JsonObject>
}

/** By the operator's names for the servers (contract section 7). */
export type Lock = ReadonlyMap<string, Accepted>

const version = 1

/** The lists of a server, and by which member an element of each is named. */
const lists = { tools: 'name', prompts: 'name', resourceTemplates: 'uriTemplate' } as const

/**
 * The file, made for review and for merging: everything sorted, a server, a tool and a member to a block of lines, and whatever is
 * not seen is escaped. The same lock is the same text.
 */
export const formatLock = (lock: ReadonlyMap<string, Catalogue>): string =>
  `${plainJson({ version, servers: sorted(Object.fromEntries([...lock].map(([name, server]) => [name, formatServer(server)]))) })}\n`

const formatServer = ({ identity, instructions, ...offered }: Catalogue): JsonObject => {
  const entries = (key: keyof typeof lists) =>
    Object.fromEntries([...offered[key]].map(([name, definition]) => [name, { digest: digestOf(definition), definition }]))
  return {
    identity,
    ...(instructions !== undefined && { instructions }),
    tools: entries('tools'), prompts: entries('prompts'), resourceTemplates: entries('resourceTemplates'),
  }
}

/** Keys in the order of RFC 8785, all the way down. */
const sorted = (value: Json): Json => {
  if (isArray(value)) return value.map(sorted)
  if (!isObject(value)) return value
  const keys = Object.keys(value).sort()
  return Object.fromEntries(keys.map(key => [key, sorted(member(value, key) ?? null)]))
}

/**
 * What the file says. Nothing in it is taken on trust: a definition that is not what its digest says is an error, and so is
 * anything that is not known here.
 * @param file what it is called in errors
 * @param definitions that were set aside: in the value there are their numbers
 * @throws CustomsError BAD_CONFIG
 */
export const parseLock = (value: Json, file: string, definitions: Frame['definitions'] = []): Lock => {
  const fail: Fail = reason => {
    throw new CustomsError('BAD_CONFIG', `${file}: ${reason}`)
  }
  const lock = objectOf(value, 'it', fail)
  const written = member(lock, 'version')
  if (typeof written === 'number' && written > version) return fail(`was written by a newer mcp-customs (version ${written} of the file; known is ${version})`)
  if (written !== version) return fail(`is no lock file: its version is not ${version}`)
  only(lock, ['version', 'servers'], 'it', fail)
  const servers = objectOf(member(lock, 'servers'), 'servers', fail)
  const reading: Reading = { definitions, fail }
  return new Map(Object.entries(servers).map(([name, server]) => [name, parseServer(server, JSON.stringify(name), reading)]))
}

interface Reading {
  /** Those that were set aside. */
  readonly definitions: readonly Buffer[]
  readonly fail: Fail
}

type Fail = (reason: string) => never

const parseServer = (value: Json | undefined, where: string, reading: Reading): Accepted => {
  const { fail } = reading
  const server = objectOf(value, where, fail)
  only(server, ['identity', 'instructions', ...Object.keys(lists)], where, fail)
  const instructions = member(server, 'instructions')
  if (instructions !== undefined && !isString(instructions)) return fail(`${where}: instructions must be a text`)
  const entries = (key: keyof typeof lists) => {
    const all = objectOf(member(server, key), `${where}: ${key}`, fail)
    return new Definitions(new Map(Object.entries(all).map(([name, entry]) => [name, parseEntry(entry, name, lists[key], () => `${where}: ${key}: ${JSON.stringify(name)}`, reading)])))
  }
  return {
    identity: objectOf(member(server, 'identity'), `${where}: identity`, fail),
    instructions,
    tools: entries('tools'), prompts: entries('prompts'), resourceTemplates: entries('resourceTemplates'),
  }
}

/** @returns what reads the definition, which was found to be what its digest says */
const parseEntry = (value: Json | undefined, name: string, named: string, where: () => string, { definitions, fail }: Reading): (() => JsonObject) => {
  const entry = isObject(value) ? value : fail(`${where()} must be an object`)
  const unknown = Object.keys(entry).find(key => key !== 'digest' && key !== 'definition')
  if (unknown !== undefined) return fail(`${where()}: unknown key ${JSON.stringify(unknown)}`)
  const [digest, held] = [member(entry, 'digest'), member(entry, 'definition')]
  const aside = typeof held === 'number' ? definitions[held] : undefined
  const read = () => objectOf(aside === undefined ? held : parseJson(aside.toString()), `${where()}: definition`, fail)
  if (aside !== undefined && isString(digest) && isIntact(aside, digest) && isNamed(aside, named, name)) return read
  const definition = read()
  if (!isString(digest) || !hasDigest(definition, digest)) return fail(`${where()}: the definition is not what its digest says: it was changed after it was accepted`)
  return member(definition, named) === name ? read : fail(`${where()}: the definition is that of another name`)
}

/** By a line of its own, where a definition has its members. */
const isNamed = (definition: Buffer, named: string, name: string): boolean => definition.includes(`\n            "${named}": ${plainJson(name)}`)

const objectOf = (value: Json | undefined, where: string, fail: Fail): JsonObject => (isObject(value) ? value : fail(`${where} must be an object`))

const only = (object: JsonObject, known: readonly string[], where: string, fail: Fail): void => {
  const unknown = Object.keys(object).find(key => !known.includes(key))
  if (unknown !== undefined) fail(`${where}: unknown key ${JSON.stringify(unknown)}`)
}

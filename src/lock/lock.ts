import { canonical, sha256 } from '../canonical.js'
import { CustomsError } from '../errors.js'
import { isObject, isString, member, parseJson, type Json, type JsonObject } from '../protocol/unmetered.js'
import { plainJson } from '../protocol/quote.js'
import { compareIdentities, compareOffers, isSame, type Change } from './compare.js'
import { withDigits } from './digits.js'
import { emptyOffer, offer, partNames, parts, type Definitions, type Offer, type Part } from './offer.js'

/** The eras of the protocol: `initialize`, and `server/discover`. */
export const eras = ['legacy', 'modern'] as const

export type Era = (typeof eras)[number]

/** What a server says, to clients of each era that it speaks. */
export interface Listed {
  /** Who it is, in the operator's words: what a server says of itself proves nothing. */
  readonly identity: JsonObject
  readonly offers: Readonly<Partial<Record<Era, Offer>>>
}

/** What was accepted of a server. Where it spoke one era, clients of the other are to be offered the same. */
export interface Locked {
  readonly identity: JsonObject
  /** A person was shown all of it and agreed; or nobody was asked. */
  readonly acceptedBy: 'person' | '--yes'
  readonly offers: Readonly<Record<Era, Offer>>
}

/** By the operator's names for the servers (contract section 7). */
export type Lock = ReadonlyMap<string, Locked>

/** In what a server differs from what was accepted of it. What both eras have in common is told once. */
export const compareServers = (before: Locked | undefined, after: Listed): readonly Change[] => {
  const [legacy = [], modern] = eras.flatMap(era => {
    const offer = after.offers[era]
    return offer === undefined ? [] : [compareOffers(before?.offers[era] ?? emptyOffer, offer)]
  })
  const identity = compareIdentities(before?.identity ?? {}, after.identity)
  if (modern === undefined) return [...identity, ...legacy]
  const common = new Set(legacy.map(one => JSON.stringify(one)).filter(one => modern.some(other => JSON.stringify(other) === one)))
  const of = (era: Era, found: readonly Change[]) => found.filter(one => !common.has(JSON.stringify(one))).map(one => ({ ...one, era }))
  return [...identity, ...legacy.filter(one => common.has(JSON.stringify(one))), ...of('legacy', legacy), ...of('modern', modern)]
}

/** What is locked of a server once it is accepted as it is listed. */
export const acceptAll = ({ identity, offers: { legacy, modern } }: Listed, acceptedBy: Locked['acceptedBy']): Locked => ({
  identity, acceptedBy, offers: { legacy: legacy ?? modern ?? emptyOffer, modern: modern ?? legacy ?? emptyOffer },
})

/**
 * What is listed of a server, of which only some tools are accepted: as they are listed now, or no longer.
 * @param names of tools; of one that was renamed, the old name or the new one
 */
export const acceptTools = (locked: Locked, { offers }: Listed, names: ReadonlySet<string>): Listed => ({
  identity: locked.identity,
  offers: Object.fromEntries(eras.map(era => [era, toolsOf(locked.offers[era], offers[era] ?? locked.offers[era], names)])),
})

const toolsOf = (locked: Offer, listed: Offer, names: ReadonlySet<string>): Offer => {
  const tools = new Map(locked.tools)
  const take = (name: string, definition: Json | undefined) => (definition === undefined ? tools.delete(name) : tools.set(name, definition))
  for (const { of, name, ...change } of compareOffers(locked, listed)) {
    if (of !== 'tool') continue
    const newName = change.class === 'renamed' && isString(change.after) ? change.after : name
    if (names.has(name) || names.has(newName)) for (const one of [name, newName]) take(one, listed.tools.get(one))
  }
  return { ...locked, tools }
}

/** SHA-256 over the canonical form (RFC 8785), as `sha256-` and hex; a number that a double does not hold has all its digits. */
export const digestOf = (value: Json): string => `sha256-${sha256(withDigits(canonical(value)))}`

const version = 2

/**
 * The file, made for review and for merging: everything sorted, a server, a tool and a member to a block of lines, and whatever is
 * not seen is escaped. The same lock is the same text. What the eras have in common stands there once.
 */
export const formatLock = (lock: Lock): string =>
  `${withDigits(plainJson(sorted({ version, servers: Object.fromEntries([...lock].map(([name, server]) => [name, formatServer(server)])) })))}\n`

/** Keys in the order of RFC 8785. */
const sorted = (value: JsonObject): Json => parseJson(canonical(value)) ?? null

const formatServer = ({ identity, acceptedBy, offers: { legacy, modern } }: Locked): JsonObject => {
  const isIn = (offer: Offer) => (part: Part, name: string, definition: Json) => isSame(offer[part].get(name), definition)
  const own = (offer: Offer, other: Offer) => {
    const written = formatOffer(offer, (...one) => !isIn(other)(...one))
    return Object.fromEntries(Object.entries(written).filter(([, part]) => isObject(part) && Object.keys(part).length > 0))
  }
  const different = { legacy: own(legacy, modern), modern: own(modern, legacy) }
  const ofEras = Object.entries(different).filter(([, offer]) => Object.keys(offer).length > 0)
  return { identity, acceptedBy, ...formatOffer(legacy, isIn(modern)), ...Object.fromEntries(ofEras) }
}

const formatOffer = (offer: Offer, isWanted: (part: Part, name: string, definition: Json) => boolean): JsonObject =>
  Object.fromEntries(partNames.flatMap((part): [string, JsonObject][] => {
    const wanted = [...offer[part]].filter(([name, definition]) => isWanted(part, name, definition))
    const entries = wanted.map(([name, definition]): [string, JsonObject] => [name, { digest: digestOf(definition), definition }])
    // What is no list stands there by itself.
    return parts[part] === undefined ? entries.map(([, entry]) => [part, entry]) : [[part, Object.fromEntries(entries)]]
  }))

/**
 * What the file says. Nothing in it is taken on trust: a definition that is not what its digest says is an error, and so is
 * anything that is not known here.
 * @param file what it is called in errors
 * @throws CustomsError BAD_CONFIG
 */
export const parseLock = (value: Json, file: string): Lock => {
  const fail: Fail = reason => {
    throw new CustomsError('BAD_CONFIG', `${file}: ${reason}`)
  }
  const lock = objectOf(value, 'it', fail)
  const written = member(lock, 'version')
  if (typeof written === 'number' && written > version) return fail(`was written by a newer mcp-customs (version ${written} of the file; known is ${version})`)
  if (written === 1) return fail('was written by an older mcp-customs (version 1 of the file): move it away, and accept the servers again with "mcp-customs lock"')
  if (written !== version) return fail(`is no lock file: its version is not ${version}`)
  only(lock, ['version', 'servers'], 'it', fail)
  const servers = objectOf(member(lock, 'servers'), 'servers', fail)
  return new Map(Object.entries(servers).map(([name, server]) => [name, parseServer(server, JSON.stringify(name), fail)]))
}

type Fail = (reason: string) => never

const parseServer = (value: Json | undefined, where: string, fail: Fail): Locked => {
  const server = objectOf(value, where, fail)
  only(server, ['identity', 'acceptedBy', ...eras, ...partNames], where, fail)
  const by = member(server, 'acceptedBy')
  const acceptedBy = by === 'person' || by === '--yes' ? by : fail(`${where}: acceptedBy must be "person" or "--yes"`)
  const common = offer(part => parsePart(member(server, part) ?? (parts[part] === undefined ? undefined : null), part, where, fail))
  const offerOf = (era: Era): Offer => {
    const value = member(server, era)
    if (value === undefined) return common
    const own = objectOf(value, `${where}: ${era}`, fail)
    only(own, partNames, `${where}: ${era}`, fail)
    return offer(part => new Map([...common[part], ...parsePart(member(own, part), part, `${where}: ${era}`, fail)]))
  }
  return { identity: objectOf(member(server, 'identity'), `${where}: identity`, fail), acceptedBy, offers: { legacy: offerOf('legacy'), modern: offerOf('modern') } }
}

/** @param value undefined where there is nothing of it */
const parsePart = (value: Json | undefined, part: Part, where: string, fail: Fail): Definitions => {
  if (value === undefined) return new Map()
  const key = parts[part]
  if (key === undefined) return new Map([['', parseEntry(value, `${where}: ${part}`, fail)]])
  return new Map(Object.entries(objectOf(value, `${where}: ${part}`, fail)).map(([name, entry]) => {
    const at = `${where}: ${part}: ${JSON.stringify(name)}`
    const definition = objectOf(parseEntry(entry ?? null, at, fail), `${at}: definition`, fail)
    return [name, member(definition, key) === name ? definition : fail(`${at}: the definition is that of another name`)]
  }))
}

const parseEntry = (value: Json, where: string, fail: Fail): Json => {
  const entry = objectOf(value, where, fail)
  only(entry, ['digest', 'definition'], where, fail)
  const [digest, definition] = [member(entry, 'digest'), member(entry, 'definition')]
  const isIntact = definition !== undefined && digestOf(definition) === digest
  return isIntact ? definition : fail(`${where}: the definition is not what its digest says: it was changed after it was accepted`)
}

const objectOf = (value: Json | undefined, where: string, fail: Fail): JsonObject => (isObject(value) ? value : fail(`${where} must be an object`))

const only = (object: JsonObject, known: readonly string[], where: string, fail: Fail): void => {
  const unknown = Object.keys(object).find(key => !known.includes(key))
  if (unknown !== undefined) fail(`${where}: unknown key ${JSON.stringify(unknown)}`)
}

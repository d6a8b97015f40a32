import { canonical, sha256 } from '#relay/base/canonical.js'
import { CustomsError } from '#relay/base/errors.js'
import {
  equal, isRecord, isString, field, parseData, type Data, type DataObject,
} from '#relay/protocol/unmetered.js'
import { plainJson } from '#relay/protocol/quote.js'
import { compareIdentities, compareOffers, type Change } from './compare.js'
import { withDigits } from './digits.js'
import { emptyOffer, offer, partNames, parts, type Definitions, type Offer, type OfferPart } from './offer.js'

/**
 * The eras of the protocol: sessions begin with `initialize` (legacy), or there is `server/discover`
 * (modern).
 */
const eras = ['legacy', 'modern'] as const

type Era = (typeof eras)[number]

/** What a server offers now, to clients of each era that it supports. */
export interface Listed {
  /** How the operator starts or reaches the server: `serverInfo` proves nothing. */
  readonly identity: DataObject
  readonly offers: Readonly<Partial<Record<Era, Offer>>>
}

/** The accepted offers of a server. If it supported one era, that offer holds for clients of both. */
export interface Locked {
  readonly identity: DataObject
  /** Whether a person saw the offers and agreed, or `--yes` skipped the question. */
  readonly acceptedBy: 'person' | '--yes'
  readonly offers: Readonly<Record<Era, Offer>>
}

/** By the server's name in the configuration (docs/lock.md). */
export type Lock = ReadonlyMap<string, Locked>

/** The changes since a server was accepted. A change in both eras is listed once. */
export const compareServers = (before: Locked | undefined, after: Listed): readonly Change[] => {
  const [legacy = [], modern] = eras.flatMap(era => {
    const offer = after.offers[era]
    return offer === undefined ? [] : [compareOffers(before?.offers[era] ?? emptyOffer, offer)]
  })
  const identity = compareIdentities(before?.identity ?? {}, after.identity)
  if (modern === undefined) return [...identity, ...legacy]
  const inModern = new Set(modern.map(one => JSON.stringify(one)))
  const common = new Set(legacy.map(one => JSON.stringify(one)).filter(text => inModern.has(text)))
  const isCommon = (one: Change): boolean => common.has(JSON.stringify(one))
  const of = (era: Era, found: readonly Change[]) =>
    found.filter(one => !isCommon(one)).map(one => ({ ...one, era }))
  return [...identity, ...legacy.filter(isCommon), ...of('legacy', legacy), ...of('modern', modern)]
}

/** The lock of a server after everything that it offers was accepted. */
export const acceptAll = (
  { identity, offers: { legacy, modern } }: Listed, acceptedBy: Locked['acceptedBy'],
): Locked => ({
  identity, acceptedBy, offers: {
    legacy: legacy ?? modern ?? emptyOffer, modern: modern ?? legacy ?? emptyOffer,
  },
})

/**
 * The locked offers, with only some tools updated to the listed offers, or removed.
 * @param names of tools; for a renamed tool, the old or the new name
 */
export const acceptTools = (locked: Locked, { offers }: Listed, names: ReadonlySet<string>): Listed => ({
  identity: locked.identity,
  offers: Object.fromEntries(eras.map(era => [
    era, toolsOf(locked.offers[era], offers[era] ?? locked.offers[era], names),
  ])),
})

const toolsOf = (locked: Offer, listed: Offer, names: ReadonlySet<string>): Offer => {
  const tools = new Map(locked.tools)
  const take = (name: string, definition: Data | undefined) =>
    definition === undefined ? tools.delete(name) : tools.set(name, definition)
  for (const { part, name, ...change } of compareOffers(locked, listed)) {
    if (part !== 'tool') continue
    const newName = change.class === 'renamed' && isString(change.after) ? change.after : name
    if (!names.has(name) && !names.has(newName)) continue
    for (const one of [name, newName]) take(one, listed.tools.get(one))
  }
  return { ...locked, tools }
}

/** `sha256-` and hex, over the canonical form (RFC 8785), in which every number has all its digits. */
export const definitionDigest = (value: Data): string => `sha256-${sha256(withDigits(canonical(value)))}`

/** The digests of a listed tool; two where clients of the eras get different definitions. */
export const digestsOf = ({ offers }: Listed, tool: string): readonly string[] => [...new Set(
  eras.flatMap(era => {
    const definition = offers[era]?.tools.get(tool)
    return definition === undefined ? [] : [definitionDigest(definition)]
  }),
)]

const version = 2

/**
 * The text of the lock file, for review and merging: all keys are sorted, each value has its line, invisible
 * characters are escaped, and equal locks have equal texts. Definitions that both eras share are written
 * once.
 */
export const formatLock = (lock: Lock): string =>
  // Keys are in the order of RFC 8785.
  `${withDigits(plainJson(parseData(canonical({ version, servers: serversOf(lock) }))))}\n`

const serversOf = (lock: Lock): DataObject =>
  Object.fromEntries([...lock].map(([name, server]) => [name, formatServer(server)]))

const formatServer = ({ identity, acceptedBy, offers: { legacy, modern } }: Locked): DataObject => {
  const isIn = (offer: Offer) =>
    (part: OfferPart, name: string, definition: Data) => equal(offer[part].get(name), definition)
  const own = (offer: Offer, other: Offer) => {
    const written = formatOffer(offer, (...one) => !isIn(other)(...one))
    return Object.fromEntries(
      Object.entries(written).filter(([, part]) => isRecord(part) && Object.keys(part).length > 0),
    )
  }
  const different = { legacy: own(legacy, modern), modern: own(modern, legacy) }
  const ofEras = Object.entries(different).filter(([, offer]) => Object.keys(offer).length > 0)
  return { identity, acceptedBy, ...formatOffer(legacy, isIn(modern)), ...Object.fromEntries(ofEras) }
}

const formatOffer =
  (offer: Offer, isWanted: (part: OfferPart, name: string, definition: Data) => boolean): DataObject =>
    Object.fromEntries(partNames.flatMap((part): [string, DataObject][] => {
      const wanted = [...offer[part]].filter(([name, definition]) => isWanted(part, name, definition))
      const entries = wanted.map(([name, definition]): [string, DataObject] => [
        name, { digest: definitionDigest(definition), definition },
      ])
      // The definition of a part that is no list is written without a name.
      return parts[part] === undefined ? entries.map(([, entry]) => [part, entry]) : [
        [part, Object.fromEntries(entries)],
      ]
    }))

/**
 * Parses a lock file strictly: a definition that does not match its digest is an error, and so is an unknown
 * key.
 * @param file its name in errors
 * @throws CustomsError BAD_CONFIG
 */
export const parseLock = (value: Data, file: string): Lock => {
  const fail: Fail = reason => {
    throw new CustomsError('BAD_CONFIG', `${file}: ${reason}`)
  }
  const lock = objectOf(value, 'it', fail)
  const written = field(lock, 'version')
  if (typeof written === 'number' && written > version) {
    return fail(`was written by a newer mcp-customs (version ${written} of the file; known is ${version})`)
  }
  if (written === 1) {
    return fail(
      'was written by an older mcp-customs (version 1 of the file): move it away, and accept the servers ' +
      'again with "mcp-customs lock"',
    )
  }
  if (written !== version) return fail(`is no lock file: its version is not ${version}`)
  only(lock, ['version', 'servers'], 'it', fail)
  const servers = objectOf(field(lock, 'servers'), 'servers', fail)
  return new Map(Object.entries(servers).map(([name, server]) => [
    name, parseServer(server, JSON.stringify(name), fail),
  ]))
}

type Fail = (reason: string) => never

const parseServer = (value: Data | undefined, where: string, fail: Fail): Locked => {
  const server = objectOf(value, where, fail)
  only(server, ['identity', 'acceptedBy', ...eras, ...partNames], where, fail)
  const by = field(server, 'acceptedBy')
  const acceptedBy =
    by === 'person' || by === '--yes' ? by : fail(`${where}: acceptedBy must be "person" or "--yes"`)
  const common = offer(part => parsePart(
    field(server, part) ?? (parts[part] === undefined ? undefined : null), part, where, fail,
  ))
  const offerOf = (era: Era): Offer => {
    const value = field(server, era)
    if (value === undefined) return common
    const own = objectOf(value, `${where}: ${era}`, fail)
    only(own, partNames, `${where}: ${era}`, fail)
    return offer(part => new Map([
      ...common[part], ...parsePart(field(own, part), part, `${where}: ${era}`, fail),
    ]))
  }
  const identity = objectOf(field(server, 'identity'), `${where}: identity`, fail)
  return { identity, acceptedBy, offers: { legacy: offerOf('legacy'), modern: offerOf('modern') } }
}

/** @param value undefined if the part is missing */
const parsePart = (value: Data | undefined, part: OfferPart, where: string, fail: Fail): Definitions => {
  if (value === undefined) return new Map()
  const key = parts[part]
  if (key === undefined) return new Map([['', parseEntry(value, `${where}: ${part}`, fail)]])
  return new Map(Object.entries(objectOf(value, `${where}: ${part}`, fail)).map(([name, entry]) => {
    const at = `${where}: ${part}: ${JSON.stringify(name)}`
    const definition = objectOf(parseEntry(entry ?? null, at, fail), `${at}: definition`, fail)
    return [name, field(definition, key) === name ? definition : fail(
      `${at}: the definition is that of another name`,
    )]
  }))
}

const parseEntry = (value: Data, where: string, fail: Fail): Data => {
  const entry = objectOf(value, where, fail)
  only(entry, ['digest', 'definition'], where, fail)
  const [digest, definition] = [field(entry, 'digest'), field(entry, 'definition')]
  const isIntact = definition !== undefined && definitionDigest(definition) === digest
  if (isIntact) return definition
  return fail(`${where}: the definition is not what its digest says: it was changed after it was accepted`)
}

const objectOf = (value: Data | undefined, where: string, fail: Fail): DataObject =>
  (isRecord(value) ? value : fail(`${where} must be an object`))

const only = (object: DataObject, known: readonly string[], where: string, fail: Fail): void => {
  const unknown = Object.keys(object).find(key => !known.includes(key))
  if (unknown !== undefined) fail(`${where}: unknown key ${JSON.stringify(unknown)}`)
}

import type { LockSetting, ServerConfiguration } from '#config/configuration.js'
import type { Accepted, AcceptedOffer, AcceptedPart } from '#core/accepted.js'
import { CustomsError } from '#errors.js'
import { plain } from '#inspect/plain.js'
import {
  bodyDigest, type ChangeClass, changeClasses, compareIdentities, compareTools, isSame,
} from '#lock/compare.js'
import { decide, type LockActions, standardActions } from '#lock/decide.js'
import { asDoubles, markLongNumbers, withDigits } from '#lock/digits.js'
import { formatLock, type Locked } from '#lock/lock.js'
import { offer, type Offer } from '#lock/offer.js'
import { type Json, type Meter, parseJson } from '#protocol/json.js'
import { readLockFile } from './file.js'
import { comparableIdentity, identityOf } from './identity.js'

/**
 * Reads what was accepted of a server, which its relay enforces.
 * @throws CustomsError BAD_CONFIG where there is no such lock, nothing of the server in it, or another server
 * than was accepted
 */
export const acceptedOf = async (
  server: ServerConfiguration, { file, isFrozen, trustAccepted, actions }: LockSetting,
): Promise<Accepted> => {
  const locked = await lockedIn(file, server.name)
  const all = { ...standardActions, ...actions }
  const changes =
    compareIdentities(locked.identity, comparableIdentity(locked.identity, await identityOf(server)))
  if (decide(changes, all).action === 'block') {
    throw new CustomsError('BAD_CONFIG', `${file}: ${JSON.stringify(server.name)} is not the server that ` +
      `was accepted (${changes.map(({ path }) => plain(path.join('.'))).join(', ')}): look at it with ` +
      '"mcp-customs lock --check", accept it with "mcp-customs lock"')
  }
  return holding(
    server.name, locked, all, { isFrozen, isTrusted: trustAccepted || locked.acceptedBy === 'person' },
  )
}

/** The accepted definitions as the core reads them. */
export const holding = (
  name: string, locked: Locked, actions: LockActions, settings: Pick<Accepted, 'isFrozen' | 'isTrusted'>,
): Accepted => {
  const { legacy, modern } = locked.offers
  const ofLegacy = heldTo(legacy, actions)
  return {
    legacy: ofLegacy,
    modern: modern === legacy ? ofLegacy : heldTo(modern, actions),
    ...settings,
    exactly: bytes => {
      const marked = markLongNumbers(bytes)
      return marked && parseJson(marked.toString())
    },
    actions,
    written: () => formatLock(new Map([[name, locked]])),
  }
}

const heldTo = (accepted: Offer, actions: LockActions): AcceptedOffer => {
  // Computed on the first new tool, which is rare.
  let bodies: ReadonlySet<string> | undefined
  const isBody = (digest: string) =>
    (bodies ??= new Set([...accepted.tools.values()].map(one => bodyDigest(one)))).has(digest)
  const classesOf = (
    part: AcceptedPart, before: Json | undefined, said: Json | undefined, meter: Meter,
  ): readonly ChangeClass[] => {
    if (part !== 'tools') return isSame(before, said, meter) ? [] : [part]
    if (said === undefined) return ['removed']
    if (before === undefined) return [isBody(bodyDigest(said, meter)) ? 'renamed' : 'added']
    return compareTools(before, said, meter).map(difference => difference.class)
  }
  return {
    definitions: offer(part => new Map([...accepted[part]].map(([name, one]) => [name, asDoubles(one)]))),
    textOf: (part, name) => {
      const definition = accepted[part].get(name)
      return definition === undefined ? undefined : withDigits(JSON.stringify(definition))
    },
    drift: (part, name, said, meter) => {
      const classes = classesOf(part, accepted[part].get(name), said, meter)
      const { action, classes: told } = decide(classes.map(one => ({ class: one })), actions)
      return action === 'pass'
        ? undefined
        : { classes: told.map(one => changeClasses[one]).join(', '), isMinor: action === 'log' }
    },
  }
}

/** @throws CustomsError BAD_CONFIG */
export const lockedIn = async (file: string, name: string): Promise<Locked> => {
  const found = await readLockFile(file)
  if (found === undefined) {
    throw new CustomsError(
      'BAD_CONFIG', `${file}: there is no such lock file ("mcp-customs lock" writes one)`,
    )
  }
  const locked = found.lock.get(name)
  if (locked === undefined) {
    throw new CustomsError(
      'BAD_CONFIG',
      `${file}: nothing was accepted of the server ${JSON.stringify(name)} ("mcp-customs lock" does that)`,
    )
  }
  return locked
}

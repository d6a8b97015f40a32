import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Configuration, LockSetting, ServerConfiguration } from '#relay/config/configuration.js'
import type { Accepted, AcceptedOffer, AcceptedPart, Drift } from '#relay/core/vocabulary.js'
import { changedTexts } from '#relay/core/changed-texts.js'
import { CustomsError, wordsText } from '#relay/base/errors.js'
import { plain } from '#relay/base/plain.js'
import { bodyDigest, type Change, compareIdentities, compareTools } from './compare.js'
import {
  type ChangeClass, changeClasses, compareValues, type Difference, differences,
} from './comparison.js'
import { decide, type LockActions, standardActions } from './decide.js'
import { asDoubles, resultDigits, withDigits } from './digits.js'
import { formatLock, type Locked } from './lock.js'
import { offer, type Offer } from './offer.js'
import { isString, type Json, type Meter, pointer } from '#relay/protocol/json.js'
import { targetOf } from '#relay/config/target.js'
import { type LockFile, readLockFile } from './file.js'
import { comparableIdentity, identityOf } from './identity.js'

/**
 * Reads the accepted definitions of a server, which its relay enforces.
 * @param configuration the one that has the server, if any
 * @throws CustomsError that says which command to run: BAD_CONFIG when there is no such lock, or it cannot be
 * read; NOT_ACCEPTED when the lock does not have the server, or the server is not the accepted one
 */
export const acceptedOf = async (
  server: ServerConfiguration, { file, isFrozen, trustAccepted, actions }: LockSetting,
  configuration: Pick<Configuration, 'file' | 'servers'>,
): Promise<Accepted> => {
  const refuse = (advice: string) => async (error: unknown): Promise<never> => {
    throw error instanceof CustomsError ? await advised(error, advice, server, file, configuration) : error
  }
  const reviewAdvice = 'to see it and accept it, run'
  const found = await readLockFile(file).catch(refuse('restore it, or move it away and run'))
  const locked =
    found?.lock.get(server.name) ?? (await refuse(reviewAdvice)(nothingAccepted(file, found, server.name)))
  const allActions = { ...standardActions, ...actions }
  const changes =
    compareIdentities(locked.identity, comparableIdentity(locked.identity, await identityOf(server)))
  const { action } = decide(changes, allActions)
  if (action === 'block') {
    return refuse(reviewAdvice)(new CustomsError(
      'NOT_ACCEPTED', `${file}: ${JSON.stringify(server.name)} is not the server that was accepted ` +
        `(${changes.map(({ path }) => plain(path.join('.'))).join(', ')})`,
    ))
  }
  return acceptedOfLock(server.name, locked, allActions, {
    isFrozen, isTrusted: trustAccepted || locked.acceptedBy === 'person',
    program: action === 'log' ? programDrift(changes) : undefined,
  })
}

/** The error, and the command that mends its cause. */
const advised = async (
  { code, message }: CustomsError, advice: string, ...locked: Parameters<typeof lockArguments>
): Promise<CustomsError> => {
  // Loaded on demand: a relay that starts does not need it.
  const [{ ownWords }, { thisInstallation }] =
    await Promise.all([import('#relay/base/own-command.js'), import('#relay/base/installation.js')])
  const command = wordsText([...ownWords(thisInstallation()), 'lock', ...lockArguments(...locked)])
  return new CustomsError(code, `${message}; ${advice}: ${command}`)
}

/** The arguments with which `lock` shows a server and asks whether to accept it. They hold no secrets. */
const lockArguments = (
  server: ServerConfiguration, lock: string, { file, servers }: Pick<Configuration, 'file' | 'servers'>,
): readonly string[] => {
  const { name } = server
  const configured = servers.get(name)
  if (file !== undefined && configured !== undefined && targetOf(configured) === targetOf(server)) {
    return ['--config', resolve(file), '--server', name, '--lock', lock]
  }
  // `install --lock` puts the lock beside the client's file, which has the server's environment too.
  const client = ['.json', '.toml'].map(ending => lock.replace(/\.customs\.lock\.json$/, ending))
    .find(path => path !== lock && existsSync(path))
  if (client !== undefined) return ['--client', client, '--server', name]
  const target = targetOf(server)
  if ('url' in server) return ['--server', name, '--lock', lock, target]
  const words = target === server.command.join(' ') ? server.command : target.split(' ')
  return ['--server', name, '--lock', lock, '--', ...words]
}

const programDrift = (changes: readonly Change[]): Drift => {
  const version = changes.find(({ path: [first, second] }) => first === 'package' && second === 'version')
  const [before, after] = [version?.before, version?.after]
  const versions =
    isString(before) && isString(after) ? `: ${plain(before, 100)}, now ${plain(after, 100)}` : ''
  return { classes: changeClasses.version + versions, isMinor: true }
}

/** The accepted definitions of a lock, as the core reads them. */
export const acceptedOfLock = (
  name: string, locked: Locked, actions: LockActions,
  settings: Pick<Accepted, 'isFrozen' | 'isTrusted' | 'program'>,
): Accepted => {
  const { legacy, modern } = locked.offers
  const ofLegacy = acceptedOffer(legacy, actions)
  return {
    legacy: ofLegacy,
    modern: modern === legacy ? ofLegacy : acceptedOffer(modern, actions),
    ...settings,
    exactResult: resultDigits,
    actions,
    written: () => formatLock(new Map([[name, locked]])),
  }
}

const acceptedOffer = (accepted: Offer, actions: LockActions): AcceptedOffer => {
  // Computed on the first new tool, which is rare.
  let bodies: ReadonlySet<string> | undefined
  const isAcceptedBody = (digest: string) =>
    (bodies ??= new Set([...accepted.tools.values()].map(one => bodyDigest(one)))).has(digest)
  const changesOf = (
    part: AcceptedPart, before: Json | undefined, sent: Json | undefined, meter: Meter,
  ): readonly Difference[] => {
    const whole = (kind: ChangeClass) => [{ class: kind, path: [], before, after: sent }]
    if (part !== 'tools') return differences(compareValues(part), before, sent, meter)
    if (sent === undefined) return whole('removed')
    if (before === undefined) return whole(isAcceptedBody(bodyDigest(sent, meter)) ? 'renamed' : 'added')
    return compareTools(before, sent, meter)
  }
  return {
    definitions: offer(part => new Map([...accepted[part]].map(([name, one]) => [name, asDoubles(one)]))),
    textOf: (part, name) => {
      const definition = accepted[part].get(name)
      return definition === undefined ? undefined : withDigits(JSON.stringify(definition))
    },
    drift: (part, name, sent, meter) => {
      const changes = changesOf(part, accepted[part].get(name), sent, meter)
      const { action, classes } = decide(changes, actions)
      return action === 'pass'
        ? undefined
        : {
            classes: classes.map(one => changeClasses[one]).join(', '), isMinor: action === 'log',
            texts: changedTexts(changes.filter(({ class: kind }) => isText.has(kind))
              .map(({ path, before, after }) => [pointer(...path), before, after])),
          }
    },
  }
}

/** The classes of changes that are of texts, or of new things, which have some. */
const isText: ReadonlySet<ChangeClass> =
  new Set(['text', 'added', 'renamed', 'instructions', 'serverInfo', 'prompts', 'resources', 'resourceTemplates'])

/** @throws CustomsError BAD_CONFIG or NOT_ACCEPTED */
export const lockedIn = async (file: string, name: string): Promise<Locked> => {
  const found = await readLockFile(file)
  const locked = found?.lock.get(name)
  if (locked === undefined) throw nothingAccepted(file, found, name)
  return locked
}

const nothingAccepted = (file: string, found: LockFile | undefined, name: string): CustomsError =>
  (found === undefined
    ? new CustomsError('BAD_CONFIG', `${file}: there is no such lock file`)
    : new CustomsError('NOT_ACCEPTED', `${file}: nothing was accepted of the server ${JSON.stringify(name)}`))

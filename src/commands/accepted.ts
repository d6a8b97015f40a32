import type { LockSetting, ServerConfiguration } from '../config/configuration.js'
import type { Accepted } from '../core/accepted.js'
import { CustomsError } from '../errors.js'
import { plain } from '../inspect/plain.js'
import { nothingAccepted } from '../lock/accept.js'
import { bodyDigest, changeClasses, compare, compareTools, type ChangeClass } from '../lock/compare.js'
import { decide, standardActions, type LockActions } from '../lock/decide.js'
import type { Accepted as Locked } from '../lock/lock.js'
import { equal, type Json } from '../protocol/json.js'
import { readLockFile } from './lock-file.js'
import { comparableIdentity, identityOf } from './lock-identity.js'

/**
 * What was accepted of a server, for its relay to hold it to.
 * @throws CustomsError BAD_CONFIG where there is no such lock, nothing of the server in it, or another server than was accepted
 */
export const acceptedOf = async (server: ServerConfiguration, { file, isFrozen, actions }: LockSetting): Promise<Accepted> => {
  const locked = await lockedIn(file, server.name)
  const all = { ...standardActions, ...actions }
  const identity = compare({ ...nothingAccepted, identity: locked.identity }, { ...nothingAccepted, identity: comparableIdentity(locked.identity, await identityOf(server)) })
  if (decide(identity, all).action === 'block') {
    throw new CustomsError('BAD_CONFIG', `${file}: ${JSON.stringify(server.name)} is not the server that was accepted (${identity.map(({ path }) => plain(path.join('.'))).join(', ')}): look at it with "mcp-customs lock --check", accept it with "mcp-customs lock"`)
  }
  return holding(locked, all, isFrozen)
}

/** What a relay is told of it. */
export const holding = (locked: Omit<Locked, 'identity'>, actions: LockActions, isFrozen: boolean): Accepted => {
  // Asked for where a tool is new, which is seldom.
  let bodies: ReadonlySet<string> | undefined
  const isBody = (digest: string) => (bodies ??= new Set([...locked.tools.values()].map(bodyDigest))).has(digest)
  return {
    tools: locked.tools,
    prompts: locked.prompts,
    resourceTemplates: locked.resourceTemplates,
    instructions: locked.instructions,
    isFrozen,
    actions,
    drift: (kind, accepted, said) => {
      const classes = kind === 'tool' ? ofTool(accepted, said, isBody) : equal(accepted, said) ? [] : [classOf[kind]]
      const { action, classes: told } = decide(classes.map(one => ({ class: one })), actions)
      return action === 'pass' ? undefined : { classes: told.map(one => changeClasses[one]).join(', '), isMinor: action === 'log' }
    },
  }
}

/** @throws CustomsError BAD_CONFIG */
export const lockedIn = async (file: string, name: string): Promise<Locked> => {
  const found = await readLockFile(file)
  if (found === undefined) throw new CustomsError('BAD_CONFIG', `${file}: there is no such lock file ("mcp-customs lock" writes one)`)
  const locked = found.lock.get(name)
  if (locked === undefined) throw new CustomsError('BAD_CONFIG', `${file}: nothing was accepted of the server ${JSON.stringify(name)} ("mcp-customs lock" does that)`)
  return locked
}

const classOf = { prompt: 'prompts', 'resource template': 'resourceTemplates', instructions: 'instructions' } as const

const ofTool = (accepted: Json | undefined, said: Json | undefined, isBody: (digest: string) => boolean): readonly ChangeClass[] => {
  if (said === undefined) return ['removed']
  if (accepted === undefined) return [isBody(bodyDigest(said)) ? 'renamed' : 'added']
  return compareTools(accepted, said).map(difference => difference.class)
}

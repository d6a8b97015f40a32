import type { Configuration } from '#config/configuration.js'
import { badUsage, CustomsError, pathText } from '#errors.js'
import { type Comparison, diffReport } from '#inspect/diff.js'
import { plain } from '#inspect/plain.js'
import { isSame } from '#lock/compare.js'
import { acceptAll, acceptTools, compareServers, type Listed, type Locked } from '#lock/lock.js'
import type { Context } from '../context.js'
import type { SharedFlags, Target } from '../flags.js'
import { type ServerSetup, setUp } from '../server/setup.js'
import { targetOf } from '../server/upstream.js'
import { type LockFile, readLockFile, writeLock } from './file.js'
import type { LockFlags } from './flags.js'
import { adviceOn, settledIdentity } from './identity.js'
import type { Compared } from './report.js'

/** A server and its lock file. */
export interface ToLock {
  readonly file: string
  readonly setup: ServerSetup
  readonly configuration: Configuration
}

/**
 * `lock`: lists everything, reports what differs from what was accepted, asks, and writes what is accepted
 * now.
 * @returns 0 when the locks say what the servers offer, or what was asked for of them; 1 when they do not; 2
 * when not every server could be asked; 128 and the signal's number when it was interrupted
 * @throws CustomsError
 */
export const lockCommand = async (
  flags: SharedFlags, target: Target, own: LockFlags, context: Context,
): Promise<number> => {
  const wanted = await serversOf(flags, target, own, context)
  const drafts = new Drafts()
  for (const { file } of wanted) {
    const { locked } = await drafts.of(file)
    if (own.check && locked === undefined) {
      throw new CustomsError(
        'BAD_CONFIG', `${file}: there is no such lock file (mcp-customs lock, without --check, writes one)`,
      )
    }
  }
  const compared: Compared[] = []
  let failures = 0
  for (const { file, setup, configuration } of wanted) {
    const { server } = setup
    try {
      const listed = await context.list(setup, configuration, { ...flags, timeoutMs: own.timeoutMs })
      if (typeof listed === 'number') return listed
      const draft = await drafts.of(file)
      const comparison =
        draft.propose(server.name, targetOf(server), ...proposalOf(listed, draft.before(server.name), own))
      const advice = own.check ? undefined : adviceOn(server, listed.identity)
      if (advice !== undefined) {
        context.tell(`${server.name}: the lock holds no digest of the program: ${advice}`)
      }
      compared.push({
        name: server.name, comparison, lock: { file, text: String(draft.locked?.bytes ?? '') },
      })
    } catch (error) {
      // One failed server does not stop the others.
      if (!(error instanceof CustomsError)) throw error
      failures++
      context.tell(`${server.name}: ${error.message.replace(`${server.name}: `, '')}`)
    }
  }
  if (compared.length > 0) await context.print(await render(compared, own, context))
  const { changed } = drafts
  if (changed.length === 0 && failures === 0 && own.accept.size > 0) return unchanged(own)
  const isAccepted = changed.length === 0 ||
    (!own.check && (own.yes || own.accept.size > 0 || (await isConfirmed(changed, context))))
  if (isAccepted) {
    for (const draft of changed) await draft.write().then(() => context.tell(`wrote ${pathText(draft.file)}`))
  }
  return failures > 0 ? 2 : isAccepted ? 0 : 1
}

const serversOf = async (
  flags: SharedFlags, target: Target, own: LockFlags, context: Context,
): Promise<readonly ToLock[]> => {
  if (own.client !== undefined) {
    return (await import('../install/servers.js')).clientServers(own.client, flags.server, own, context)
  }
  const { configuration, servers } = await setUp(flags, target, 'inspect', true)
  return servers.map(setup => {
    const file = own.file ?? (setup.server.lock ?? configuration.lock)?.file ?? 'customs.lock.json'
    return { file, setup, configuration }
  })
}

/**
 * What is proposed for acceptance, and by whom. `--accept TOOL` accepts only that tool: the rest was not
 * reviewed.
 */
const proposalOf = (
  listed: Listed, before: Locked | undefined, { accept, yes, check }: LockFlags,
): [Listed, Locked['acceptedBy']] => {
  if (accept.size === 0) {
    return [listed, yes || (check && before?.acceptedBy === '--yes') ? '--yes' : 'person']
  }
  const known = before ?? withoutTools(acceptAll(listed, '--yes'))
  return [acceptTools(known, listed, accept), known.acceptedBy]
}

const withoutTools = ({ offers: { legacy, modern }, ...rest }: Locked): Locked =>
  ({ ...rest, offers: { legacy: { ...legacy, tools: new Map() }, modern: { ...modern, tools: new Map() } } })

const unchanged = ({ accept }: LockFlags): never => {
  const names = [...accept].map(name => JSON.stringify(plain(name))).join(', ')
  return badUsage(`--accept ${names}: nothing changed of any such tool`)
}

const render = async (
  compared: readonly Compared[], { format }: LockFlags, { style, width }: Context,
): Promise<string> =>
  format === 'text'
    ? compared.map(({ comparison }) => diffReport(comparison, style, width)).join('\n')
    : (await import('./report.js'))[format](compared)

/** Without a terminal nothing is accepted. */
const isConfirmed = async (changed: readonly Draft[], { dialogue, tell }: Context): Promise<boolean> => {
  const files = changed.map(({ file }) => file).join(' and ')
  if (dialogue !== undefined) return dialogue.confirm(`Accept this, and write it to ${files}?`)
  tell(`${files} was not written: nobody is there to ask (--yes accepts all of it, --accept TOOL a part)`)
  return false
}

/** The lock files of one run, and their proposed contents. */
export class Drafts {
  readonly #drafts = new Map<string, Draft>()

  /** @throws CustomsError BAD_CONFIG */
  async of(file: string): Promise<Draft> {
    const draft = this.#drafts.get(file) ?? new Draft(file, await readLockFile(file))
    this.#drafts.set(file, draft)
    return draft
  }

  get changed(): readonly Draft[] {
    return [...this.#drafts.values()].filter(({ isChanged }) => isChanged)
  }
}

export class Draft {
  readonly #proposed = new Map<string, Locked>()
  #isChanged = false

  /** @param locked undefined where there is no such file */
  constructor(readonly file: string, readonly locked: LockFile | undefined) {}

  get isChanged(): boolean {
    return this.#isChanged
  }

  before(name: string): Locked | undefined {
    return this.locked?.lock.get(name)
  }

  /**
   * @param target the server, in the operator's words
   * @param acceptedBy who will have accepted it; a person is shown all that no person has accepted
   * @returns in what it differs from what was accepted
   * @throws CustomsError BAD_CONFIG where another server of that name is to be locked in the same file
   */
  propose(name: string, target: string, listed: Listed, acceptedBy: Locked['acceptedBy']): Comparison {
    const before = this.before(name)
    const offered =
      acceptAll({ ...listed, identity: settledIdentity(before?.identity ?? {}, listed.identity) }, acceptedBy)
    const other = this.#proposed.get(name)
    if (other !== undefined && !isSame(other.identity, offered.identity)) {
      throw new CustomsError(
        'BAD_CONFIG',
        `${name}: another server of this name is locked in ${this.file}: give one of them a lock of its own`,
      )
    }
    const known = acceptedBy === 'person' && before?.acceptedBy === '--yes' ? undefined : before
    const changes = compareServers(known, { identity: offered.identity, offers: listed.offers })
    // A new server counts as a change even when it offers nothing. Without a change, `acceptedBy` stays as it
    // was.
    const isChanged = changes.length > 0 || known === undefined
    this.#isChanged ||= isChanged
    this.#proposed.set(name, isChanged || before === undefined ? offered : before)
    return { before: this.file, after: `${name} (${target})`, changes, incomparable: [] }
  }

  /** @throws CustomsError BAD_CONFIG */
  async write(): Promise<void> {
    await writeLock(this.file, this.locked?.bytes, new Map([...(this.locked?.lock ?? []), ...this.#proposed]))
  }
}

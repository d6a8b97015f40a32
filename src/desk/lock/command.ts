import type { Configuration } from '#relay/config/configuration.js'
import { badUsage, CustomsError, pathText } from '#relay/base/errors.js'
import type { OfferComparison } from '#desk/inspect/diff.js'
import { plain } from '#relay/base/plain.js'
import {
  acceptAll, acceptTools, compareServers, digestsOf, type Listed, type Locked,
} from '#relay/lock/lock.js'
import { equal } from '#relay/protocol/unmetered.js'
import type { Context } from '#desk/terminal/context.js'
import type { RelaySettings } from '#relay/host/settings.js'
import type { Target } from '#relay/config/target.js'
import type { ServerSetup } from '#relay/host/server/judgement.js'
import { setUp } from '#relay/host/server/setup.js'
import { targetOf } from '#relay/config/target.js'
import { type LockFile, readLockFile, writeLock } from '#relay/lock/file.js'
import type { LockFlags } from '#cli/flags/lock.js'
import { adviceOn, pinAdvice, settledIdentity } from '#relay/lock/identity.js'
import type { Compared } from './report.js'
import { asFailure, type ComparedServer, details, listAll, overview } from './servers.js'

/** A server and its lock file. */
export interface ToLock {
  readonly file: string
  readonly setup: ServerSetup
  readonly configuration: Configuration
}

/**
 * `lock`: lists everything, reports what differs from what was accepted, asks for each server, and writes
 * what is accepted now.
 * @returns 0 when the locks hold what the servers offer, or the accepted part of it; 1 when a difference
 * was not accepted; 2 when a server could not be asked; 128 and the signal's number when it was interrupted
 * @throws CustomsError
 */
export const lockCommand = async (
  flags: RelaySettings, target: Target, own: LockFlags, context: Context,
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
  const compared: (Compared & ComparedServer & { readonly draft: Draft })[] = []
  let failures = 0
  let isOther = false
  for (const { file, setup: { server }, listed } of await listAll(
    wanted, { ...flags, timeoutMs: own.timeoutMs }, context,
  )) {
    if (typeof listed === 'number') return listed
    const { name } = server
    try {
      if (listed instanceof CustomsError) throw listed
      const draft = await drafts.of(file)
      const before = draft.before(name)
      for (const message of unexpected(listed, wanted.length === 1 ? undefined : before, own.expect)) {
        isOther = true
        context.tell(`${name}: ${message}`)
      }
      const [proposed, acceptedBy] = proposalOf(listed, before, own)
      const comparison = draft.propose(name, targetOf(server), proposed, acceptedBy, own.verbose)
      const advice = own.check ? undefined : adviceOn(server, listed.identity)
      if (advice !== undefined) context.tell(`${name}: the lock holds no digest of the program: ${advice}`)
      const pin = own.check || advice !== undefined ? undefined : pinAdvice(server, listed.identity)
      const byInstall = own.client === undefined ? '' : ', or run install --pin'
      if (pin !== undefined) context.tell(`${name}: ${plain(pin, 300)}${byInstall}`)
      const lock = { file, text: String(draft.locked?.bytes ?? '') }
      const digests = changedDigests(comparison, listed)
      compared.push({ name, comparison, digests, lock, draft, isNew: before === undefined })
    } catch (error) {
      failures++
      context.tell(`${name}: ${asFailure(error).message.replace(`${name}: `, '')}`)
    }
  }
  if (isOther) return 1
  const isOne = wanted.length === 1
  if (own.format !== 'text') await context.print(await (await import('./report.js'))[own.format](compared))
  else if (!isOne && compared.length > 0) {
    await context.print(overview(compared, failures, own.verbose, context))
  }
  const { dialogue } = context
  const isAsking = !own.check && !own.yes && own.accept.size === 0
  let isRefused = own.check && drafts.changed.length > 0
  for (const one of compared) {
    if (own.format === 'text') await context.print(details(one, own.verbose || isOne, context, own.verbose))
    if (!isAsking || dialogue === undefined || !one.draft.isChanged(one.name)) continue
    if (await dialogue.confirm(questionOf(one, isOne))) continue
    isRefused = true
    one.draft.withdraw(one.name)
  }
  const { changed } = drafts
  if (changed.length === 0 && failures === 0 && own.accept.size > 0) return unchanged(own)
  if (own.check) return failures > 0 ? 2 : isRefused ? 1 : 0
  if (isAsking && dialogue === undefined && changed.length > 0) {
    context.tell(`${filesOf(changed)} was not written: nobody is there to ask (--yes accepts all of it, ` +
      '--accept TOOL a part)')
    return failures > 0 ? 2 : 1
  }
  for (const draft of changed) {
    await draft.write()
    context.tell(`wrote ${pathText(draft.file)}: it holds when the client or the gateway is started again`)
  }
  return failures > 0 ? 2 : isRefused ? 1 : 0
}

/**
 * Reports each tool whose listed definition does not have the digest that `--expect` names.
 * @param before what was accepted of this server, if there are several servers; else undefined
 */
const unexpected = (
  listed: Listed, before: Locked | undefined, expect: LockFlags['expect'],
): readonly string[] =>
  [...expect].flatMap(([tool, digests]) => {
    const found = digestsOf(listed, tool)
    if (found.length > 0 && found.every(one => digests.has(one))) return []
    // The tool may be another server's.
    if (found.length === 0 && before !== undefined && digestsOf(before, tool).length === 0) return []
    const is = found.length === 0 ? 'the server does not list it' : `the server lists ${found.join(' and ')}`
    const expected = [...digests].join(' or ')
    return [`${JSON.stringify(plain(tool))} was not accepted: expected ${expected}, but ${is}`]
  })

/** The digests of the listed tools that differ from what was accepted. */
const changedDigests = ({ changes }: OfferComparison, listed: Listed): Compared['digests'] =>
  new Map(changes.flatMap(({ part, name, class: kind, after }) => {
    const now = kind === 'renamed' && typeof after === 'string' ? after : name
    const digests = part === 'tool' ? digestsOf(listed, now) : []
    return digests.length === 0 ? [] : [[now, digests] as const]
  }))

const questionOf = ({ name, lock: { file } }: Compared, isOne: boolean): string =>
  `Accept ${isOne ? 'this' : `this of ${plain(name)}`}, and write it to ${file}?`

const filesOf = (drafts: readonly Draft[]): string => drafts.map(({ file }) => file).join(' and ')

const serversOf = async (
  flags: RelaySettings, target: Target, own: LockFlags, context: Context,
): Promise<readonly ToLock[]> => {
  const isNameOnly =
    flags.server !== undefined && (flags.config ?? target.command ?? target.url ?? target.file) === undefined
  if (own.client !== undefined || isNameOnly) {
    return (await import('#desk/install/servers.js')).clientServers(flags.server, own, context)
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
    return [...this.#drafts.values()].filter(draft => draft.isChanged())
  }
}

export class Draft {
  readonly #proposed = new Map<string, Locked>()
  readonly #changed = new Set<string>()

  /** @param locked undefined where there is no such file */
  constructor(readonly file: string, readonly locked: LockFile | undefined) {}

  /** @param name of one server; undefined: any */
  isChanged(name?: string): boolean {
    return name === undefined ? this.#changed.size > 0 : this.#changed.has(name)
  }

  /** Leaves a server as it was accepted before. */
  withdraw(name: string): void {
    this.#changed.delete(name)
    this.#proposed.delete(name)
  }

  before(name: string): Locked | undefined {
    return this.locked?.lock.get(name)
  }

  /**
   * @param target the server, in the operator's words
   * @param acceptedBy who will have accepted it
   * @param isWhole a person reads all that no person has accepted, and not only what differs
   * @returns in what it differs from what was accepted
   * @throws CustomsError BAD_CONFIG where another server of that name is to be locked in the same file
   */
  propose(
    name: string, target: string, listed: Listed, acceptedBy: Locked['acceptedBy'], isWhole = false,
  ): OfferComparison {
    const before = this.before(name)
    const identity = settledIdentity(before?.identity ?? {}, listed.identity)
    const compare = (known: Locked | undefined) => compareServers(known, { identity, offers: listed.offers })
    const differing = compare(before)
    const isUnread = acceptedBy === 'person' && before?.acceptedBy === '--yes'
    const isAll = isUnread && (isWhole || differing.length === 0)
    // Who read the difference alone has not read the rest.
    const offered = acceptAll({ ...listed, identity }, isUnread && !isAll ? '--yes' : acceptedBy)
    const other = this.#proposed.get(name)
    if (other !== undefined && !equal(other.identity, offered.identity)) {
      throw new CustomsError(
        'BAD_CONFIG',
        `${name}: another server of this name is locked in ${this.file}: give one of them a lock of its own`,
      )
    }
    const changes = isAll ? compare(undefined) : differing
    // A new server counts as a change even when it offers nothing. Without a change, `acceptedBy` stays as it
    // was.
    const isChanged = changes.length > 0 || isAll || before === undefined
    if (isChanged) this.#changed.add(name)
    this.#proposed.set(name, isChanged ? offered : before)
    return { before: this.file, after: `${name} (${target})`, changes, incomparable: [] }
  }

  /** @throws CustomsError BAD_CONFIG */
  async write(): Promise<void> {
    await writeLock(this.file, this.locked?.bytes, new Map([...(this.locked?.lock ?? []), ...this.#proposed]))
  }
}

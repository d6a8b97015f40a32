import { type ReplayChange, compare, type ReplayDifference, type JudgedMessage, type Rewritten } from './compare.js'
import { shapesOf } from '#relay/profiles/shape.js'
import type { CapturedLock, CaptureLimits, Opening, CapturedRuling } from '#relay/capture/line.js'
import { captureLinesOf, sessionsIn } from '#relay/capture/read.js'
import { type ReplaySettings, recorded, replayed } from './replay.js'
import { parseRules } from '#relay/config/policy-file.js'
import { type Accepted, actions, type Policy } from '#relay/core/vocabulary.js'
import { CustomsError } from '#relay/base/errors.js'
import { count, plainStyle, type Style, styleFor } from '#desk/terminal/style.js'
import { type ChangeClass, changeClasses } from '#relay/lock/comparison.js'
import { type LockAction, standardActions } from '#relay/lock/decide.js'
import { clip } from '#relay/protocol/quote.js'
import { isRuleName, presetPolicy, rules } from '#relay/rules/index.js'
import { createSchemaChecker } from '#relay/schema/index.js'
import type { RelaySettings } from '#relay/host/settings.js'
import { acceptedOfLock, lockedIn } from '#relay/lock/accepted.js'
import { parseLockText } from '#relay/lock/file.js'
import { table } from '#desk/terminal/output.js'
import { setUp } from '#relay/host/server/setup.js'
import type { ReplayFlags } from '#cli/flags/learn.js'

/** The settings of a replayed session. */
interface Settings {
  readonly judged: Omit<ReplaySettings, 'checker'>
  readonly limits: CaptureLimits
}

/** How a capture would differ under other settings. */
interface Replayed extends ReplayDifference {
  readonly sessions: number
  readonly messages: number
  readonly decisions: number
  /** Sessions that cannot be replayed because a part is not in the files. */
  readonly incomplete: number
}

/**
 * `replay FILE…`: runs captures through the core under other settings, and prints what would change.
 * @returns 0
 * @throws CustomsError BAD_USAGE, BAD_CONFIG
 */
export const replay = async ({ shared, json }: ReplayFlags, files: readonly string[]): Promise<number> => {
  const whole = await replayAll(files, opening => settingsFor(shared, opening))
  const style = json ? plainStyle : styleFor(process.stdout, process.env)
  process.stdout.write(json ? `${JSON.stringify(whole, null, 2)}\n` : report(whole, style))
  return 0
}

const replayAll = async (
  files: readonly string[], settings: (opening: Opening) => Promise<Settings>,
): Promise<Replayed> => {
  const changes: ReplayChange[] = []
  const rewritten: Rewritten[] = []
  let [sessions, messages, decisions, incomplete, same] = [0, 0, 0, 0, true]
  for (const session of sessionsIn(captureLinesOf(files), () => incomplete++)) {
    const { judged, limits } = await settings(session.opening)
    const checker = createSchemaChecker(limits)
    try {
      const was = recorded(session, session.opening.settings.limits)
      const difference =
        compare(session.opening.session, was, await replayed(session, was, { ...judged, checker }))
      changes.push(...difference.changes)
      rewritten.push(...difference.rewritten)
      same &&= difference.same
      sessions++
      messages += was.messages.length
      decisions += was.decisions.length
    } finally {
      await checker.close()
    }
  }
  return { sessions, messages, decisions, incomplete, same, changes, rewritten }
}

/** The captured settings, overridden by the flags and the configuration. */
const settingsFor = async (
  { lock, ...flags }: RelaySettings, { server, settings }: Opening,
): Promise<Settings> => {
  const configured = flags.config !== undefined
  const other = configured || flags.policy !== undefined || flags.trustList !== undefined
    || flags.profile.length > 0
  const target = { command: configured ? undefined : ['replay'], url: undefined }
  const given = other
    ? await setUp({ ...flags, lock: undefined, server: flags.server ?? server }, target, 'relay')
    : undefined
  const { configuration, servers: [setup] = [] } = given ?? {}
  const limits = configured && configuration ? configuration.limits : settings.limits
  /** In place of what was captured. */
  const now = configured ? setup?.judgement : undefined
  const before = now ? now.accepted : settings.lock && (await acceptedAs(settings.lock, server))
  const accepted =
    lock === undefined ? before : await acceptedIn(lock, flags.server ?? server, flags.trustAccepted)
  const isPolicyOther = setup !== undefined && (configured || flags.policy !== undefined)
  const rulingOf = (then: CapturedRuling): ReturnType<ReplaySettings['ruling']> => {
    const policy = isPolicyOther ? setup.judgement.ruling.policy : captured(then.policy)
    return {
      policy: new Map([
        ...policy, ...(before === undefined && accepted !== undefined ? onceLocked : []),
        ...parseRules(flags.rule),
      ]),
      tools: now ? now.ruling.tools : new Map(Object.entries(then.tools)),
      names: now ? now.ruling.names : then.names,
      shapes: configured || flags.profile.length > 0
        ? setup?.judgement.ruling.shapes : shapesOf(then.profiles ?? [], server),
    }
  }
  return {
    judged: {
      ruling: rulingOf,
      judgement: {
        ...(now ?? settings), server, rules, accepted, limits,
        intent: settings.intent, maxFindings: settings.mostFindings, ...(flags.trust && { trusted: true }),
      },
      limits,
    },
    limits,
  }
}

/** The action that a lock gives to tool/drift. */
const onceLocked: Policy = new Map([...presetPolicy('standard', { purpose: 'relay', locked: true })]
  .filter(([rule]) => rule === 'tool/drift'))

const acceptedIn = async (file: string, server: string, trustAccepted: boolean): Promise<Accepted> => {
  const locked = await lockedIn(file, server)
  return acceptedOfLock(server, locked, standardActions, {
    isFrozen: false, isTrusted: trustAccepted || locked.acceptedBy === 'person',
  })
}

const acceptedAs = async (
  { text, actions: then, isFrozen, isTrusted, program }: CapturedLock, server: string,
): Promise<Accepted> => {
  const actions: Record<ChangeClass, LockAction> = { ...standardActions }
  for (const [kind, action] of Object.entries(then)) {
    if (isChangeClass(kind) && (action === 'log' || action === 'block')) actions[kind] = action
  }
  const locked = (await parseLockText(Buffer.from(text), 'the lock in the capture')).get(server)
  if (locked === undefined) {
    throw new CustomsError('BAD_CONFIG', `the lock in the capture says nothing of ${JSON.stringify(server)}`)
  }
  return acceptedOfLock(server, locked, actions, { isFrozen, isTrusted, program })
}

const isChangeClass = (name: string): name is ChangeClass => Object.hasOwn(changeClasses, name)

/** Rules newer than the capture keep their standard action. */
const captured = (written: Readonly<Record<string, string>>): Policy => {
  const policy = presetPolicy('standard', { purpose: 'relay', locked: false })
  for (const [rule, action] of Object.entries(written)) {
    const known = actions.find(one => one === action)
    if (isRuleName(rule) && known !== undefined) policy.set(rule, known)
  }
  return policy
}

const report = (
  { sessions, messages, decisions, incomplete, same, changes, rewritten }: Replayed, style: Style,
): string => {
  const seen = `${count(sessions, 'session')}, ${count(messages, 'message')}, ${count(decisions, 'decision')}`
  const lost = incomplete === 0
    ? ''
    : `${count(incomplete, 'session')} cannot be replayed: a part of it is not in the files\n`
  if (same) return `${seen}: nothing would change\n${lost}`
  const parts = [`${seen}: ${count(changes.length, 'decision')} and ${count(rewritten.length, 'message')} ` +
    `would be others${changes.length + rewritten.length === 0 ? ' in order alone' : ''}`]
  if (changes.length > 0) {
    parts.push(table(['time', 'event', 'tool', 'id', 'was', 'would be'], changes.map(one =>
      [
        one.time, one.event, one.tool ?? '', String(one.id ?? ''), inWords(one.was), inWords(one.would),
      ].map(clip)), style))
  }
  if (rewritten.length > 0) {
    parts.push(table(['to', 'message', 'id', 'bytes', 'would be'], rewritten.map(one =>
      [
        one.to, one.what, one.id ?? '', String(one.was ?? 'none'), String(one.would ?? 'none'),
      ].map(clip)), style))
  }
  return `${parts.join('\n\n')}\n${lost}`
}

const inWords = (judged: JudgedMessage | undefined): string =>
  judged === undefined ? 'nothing' : [judged.verdict, ...judged.rules].join(' ')

import { inWords } from '#relay/core/mend.js'
import { difference } from '#relay/protocol/edit.js'
import { type JsonObject, Meter, OverBudget } from '#relay/protocol/json.js'
import { fit } from '#relay/profiles/fit.js'
import type { ProfileRefusal } from '#relay/profiles/node.js'
import type { Profile } from '#relay/profiles/profile.js'
import { plain } from '#relay/base/plain.js'
import { columnsOf, count, type Style, wrapText } from '#desk/terminal/style.js'

/** What becomes of one tool under one profile. */
export interface ProfiledTool {
  readonly name: string
  /** `mended`: refused as it is, and accepted as a relay with `--profile` shows it. */
  readonly verdict: 'accepted' | 'mended' | 'refused'
  readonly reasons: readonly ProfileRefusal[]
  /** How it is mended, in words. */
  readonly changes: string | undefined
}

export interface ProfiledTools {
  readonly profile: Profile
  readonly tools: readonly ProfiledTool[]
  /** Tools beyond the number that the client takes. */
  readonly surplus: number
}

/** Steps for one definition. */
const steps = 1_000_000

/** @param server its name, which some clients put before the names of its tools */
export const profiled = (
  tools: readonly { readonly name: string; readonly definition: JsonObject | undefined }[],
  profiles: readonly Profile[], server: string,
): readonly ProfiledTools[] =>
  profiles.map(profile => ({
    profile,
    tools: tools.map(({ name, definition = {} }) => profiledTool(name, definition, profile, server)),
    surplus: Math.max(0, tools.length - (profile.tools ?? Infinity)),
  }))

const profiledTool = (
  name: string, definition: JsonObject, profile: Profile, server: string,
): ProfiledTool => {
  try {
    return judgedTool(name, definition, profile, server)
  } catch (error) {
    if (!(error instanceof OverBudget)) throw error
    const reasons = [{ path: '', message: 'has more parts than are looked at' }]
    return { name, verdict: 'refused', reasons, changes: undefined }
  }
}

const judgedTool = (
  name: string, definition: JsonObject, profile: Profile, server: string,
): ProfiledTool => {
  const meter = new Meter(undefined, steps)
  const { refused: reasons, made } = fit(definition, profile, meter, server)
  if (reasons.length === 0) return { name, verdict: 'accepted', reasons, changes: undefined }
  const isAccepted = fit(made, profile, meter, server).refused.length === 0
  const edits = isAccepted ? difference(definition, made, meter) : undefined
  return edits === undefined
    ? { name, verdict: 'refused', reasons, changes: undefined }
    : { name, verdict: 'mended', reasons, changes: inWords(edits, '') }
}

/** True when every client accepts every tool unchanged. */
export const isAcceptedByAll = (profiles: readonly ProfiledTools[]): boolean =>
  profiles.every(({ tools, surplus }) =>
    surplus === 0 && tools.every(({ verdict }) => verdict === 'accepted'))

/** As JSON. */
export const profilesJson = (profiles: readonly ProfiledTools[]) =>
  profiles.map(({ profile: { name, title, version, date, sources }, tools, surplus }) => ({
    name, title, version, date, sources, surplus,
    tools: tools.map(({ name, verdict, reasons, changes = null }) =>
      ({ name, verdict, reasons: reasons.map(({ path, message }) => ({ path, message })), changes })),
  }))

const symbols = { accepted: '✓', mended: '~', refused: '✗' } as const

/** Tools and reasons that are told of one profile; `--json` has them all. */
const maxReasons = 8
const maxNames = 6

/** A table of tools by clients, and below it the reasons. */
export const profilesSection = (
  profiles: readonly ProfiledTools[], style: Style, width: number,
): string => {
  const [first] = profiles
  if (first === undefined) return ''
  const names = first.tools.map(({ name }) => plain(name, 128))
  const column = Math.min(Math.max(4, ...names.map(columnsOf)), Math.floor(width / 2))
  const columns = profiles.map(({ profile }) => Math.max(profile.name.length, 7))
  const row = (head: string, cells: readonly string[]): string =>
    `  ${head.padEnd(head.length + Math.max(0, column - columnsOf(head)))}  ` +
    cells.map((cell, index) => cell.padEnd(columns[index] ?? 7)).join('  ').trimEnd()
  const looks = { accepted: style.good, mended: style.warn, refused: style.bad }
  return [
    style.title('Clients'),
    style.dim(row('', profiles.map(({ profile }) => profile.name))),
    ...names.map((name, index) => row(name, profiles.map(({ tools }, at) => {
      const verdict = tools[index]?.verdict ?? 'accepted'
      const cell = `${symbols[verdict]}${verdict === 'accepted' ? '' : ` ${verdict}`}`
      return looks[verdict](cell.padEnd(columns[at] ?? 7))
    }))),
    ...profiles.flatMap(one => reasonsOf(one, style, width)),
  ].join('\n')
}

const reasonsOf = (
  { profile, tools, surplus }: ProfiledTools, style: Style, width: number,
): readonly string[] => {
  const number = (verdict: ProfiledTool['verdict']) => tools.filter(tool => tool.verdict === verdict).length
  const byReason = new Map<string, Set<string>>()
  for (const { name, reasons } of tools) {
    for (const { message } of reasons) {
      const its = byReason.get(message) ?? new Set<string>()
      byReason.set(message, its.add(plain(name, 128)))
    }
  }
  const reasons = [...byReason].sort(([, a], [, b]) => b.size - a.size)
  const told = reasons.slice(0, maxReasons).flatMap(([message, its]) => {
    const some = [...its].slice(0, maxNames).join(', ')
    const more = its.size > maxNames ? `, and ${its.size - maxNames} more` : ''
    return wrapText(`${plain(message, 200)}: ${some}${more}`, width - 6).map(line => `      ${line}`)
  })
  const example = tools.find(({ changes }) => changes !== undefined)
  return [
    `  ${style.title(profile.title)} ${style.dim(`(${profile.version}, as of ${profile.date})`)}: ` +
      `${number('accepted')} accepted, ${number('mended')} mended, ${number('refused')} refused`,
    ...told,
    ...(reasons.length > maxReasons
      ? [`      and ${count(reasons.length - maxReasons, 'other reason')}`]
      : []),
    ...(surplus > 0 ? [`      takes ${String(profile.tools)} tools: ${surplus} would be left out`] : []),
    ...(example === undefined ? [] : wrapText(
      `→ mended, for example ${plain(example.name, 128)}: ${plain(example.changes ?? '', 300)}`, width - 6,
    ).map(line => style.dim(`      ${line}`))),
  ]
}

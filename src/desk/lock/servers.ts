import type { Configuration } from '#relay/config/configuration.js'
import { CustomsError } from '#relay/base/errors.js'
import { type OfferComparison, diffReport } from '#desk/inspect/diff.js'
import { plain } from '#relay/base/plain.js'
import { count, fill, spinner } from '#desk/terminal/style.js'
import type { Change } from '#relay/lock/compare.js'
import type { Listed } from '#relay/lock/lock.js'
import type { Context } from '#desk/terminal/context.js'
import type { ListingSettings } from '#desk/inspect/server.js'
import type { ServerSetup } from '#relay/host/server/judgement.js'
import { subjectOf } from '#relay/config/subject.js'

/** Servers that are asked at the same time. */
const maxAtOnce = 8

interface ToAsk {
  readonly setup: ServerSetup
  readonly configuration: Configuration
}

/** What a server offers, why it could not be asked, or the exit code when that was interrupted. */
interface Answer {
  readonly listed: Listed | CustomsError | number
}

/**
 * Asks servers side by side. Those that start the same program are asked one after another: two runs of npx
 * would fetch its package into the same folder.
 */
export const listAll = async <Asked extends ToAsk>(
  servers: readonly Asked[], listing: Omit<ListingSettings, 'isQuiet'>, { list }: Pick<Context, 'list'>,
): Promise<readonly (Asked & Answer)[]> => {
  const queues = new Map<unknown, Asked[]>()
  for (const one of servers) {
    const { server } = one.setup
    const key = 'url' in server ? one : subjectOf(server.command).word
    queues.set(key, [...(queues.get(key) ?? []), one])
  }
  const isQuiet = servers.length > 1
  const waiting = isQuiet ? spinner(process.stderr, process.env) : undefined
  const open = new Set<ToAsk>(servers)
  const say = () => waiting?.say(`asking ${[...open].map(({ setup: { server } }) => server.name).join(', ')}`)
  const answers = new Map<Asked, Asked & Answer>()
  const rest = [...queues.values()]
  const worker = async (): Promise<void> => {
    for (let queue = rest.shift(); queue !== undefined; queue = rest.shift()) {
      for (const one of queue) {
        const listed = await list(one.setup, one.configuration, { ...listing, isQuiet }).catch(asFailure)
        answers.set(one, { ...one, listed })
        open.delete(one)
        if (open.size > 0) say()
      }
    }
  }
  say()
  try {
    await Promise.all(Array.from({ length: maxAtOnce }, worker))
  } finally {
    waiting?.stop()
  }
  return servers.flatMap(one => answers.get(one) ?? [])
}

/** An error of one server does not stop the others. @throws any other */
export const asFailure = (error: unknown): CustomsError => {
  if (error instanceof CustomsError) return error
  throw error
}

/** A server as it was compared with its lock. */
export interface ComparedServer {
  readonly name: string
  readonly comparison: OfferComparison
  /** Of the tools that differ, by name. */
  readonly digests?: ReadonlyMap<string, readonly string[]>
  /** True when it was never accepted. */
  readonly isNew: boolean
}

/** All servers in a line each, under a line that counts them. */
export const overview = (
  servers: readonly ComparedServer[], failures: number, isVerbose: boolean,
  { style, width }: Pick<Context, 'style' | 'width'>,
): string => {
  const old = servers.filter(({ isNew }) => !isNew)
  const unchanged = old.filter(({ comparison: { changes } }) => changes.length === 0).length
  const fresh = servers.length - old.length
  const parts = [
    ...(unchanged > 0 ? [`${unchanged} unchanged`] : []),
    ...(fresh > 0 ? [`${fresh} new`] : []),
    ...countsOf(old.flatMap(({ comparison }) => comparison.changes)),
    ...(failures > 0 ? [`${failures} could not be asked`] : []),
  ]
  const column = Math.min(40, Math.max(...servers.map(({ name }) => name.length)))
  const rows = servers.map(({ name, comparison: { changes }, isNew }) => {
    const state = isNew ? contentsOf(changes) : countsOf(changes)
    const told = state.length > 0 ? `${isNew ? 'new: ' : ''}${state.join(', ')}` : isNew ? 'new' : 'unchanged'
    const shown = state.length > 0 ? style.warn : style.dim
    const lines = fill(told.split(' '), width - column - 4).map(shown)
    return `  ${plain(name).padEnd(column)}  ${lines.join(`\n${' '.repeat(column + 4)}`)}`
  })
  const note = fresh > 0 && !isVerbose ? ['(--verbose shows all that new servers offer)'].map(style.dim) : []
  const title = `${count(servers.length + failures, 'server')}: ${parts.join(', ')}`
  return [title, ...rows, ...note, '', ''].join('\n')
}

/** Changes of a server that was accepted before are always shown whole; what is new, if that is asked for. */
export const details = (
  { comparison, digests = new Map(), isNew }: ComparedServer, isVerbose: boolean,
  { style, width }: Pick<Context, 'style' | 'width'>, hasDigests = false,
): string => {
  const isShown = isVerbose || (!isNew && comparison.changes.length > 0)
  const rows = [...digests].flatMap(([name, all]) => all.map(digest => `  ${plain(name)}  ${digest}`))
  const told = !hasDigests || rows.length === 0 ? '' : ['digests of these tools:', ...rows, '', ''].join('\n')
  return (isShown ? diffReport(comparison, style, width) : '') + told
}

/** Of what kind changes are, and how many: `2 new tools, 1 changed description`. */
const countsOf = (changes: readonly Change[]): readonly string[] => {
  const things = new Map<string, Set<string>>()
  for (const { class: kind, part, name } of changes) {
    const noun = nouns.get(kind) ?? 'other change'
    const thing = `${part} ${name}${nouns.has(kind) ? '' : ` ${kind}`}`
    things.set(noun, (things.get(noun) ?? new Set()).add(thing))
  }
  return [...things].map(([noun, { size }]) => count(size, noun))
}

const nouns: ReadonlyMap<Change['class'], string> = new Map([
  ['command', 'changed command'], ['version', 'updated program'],
  ['added', 'new tool'], ['removed', 'removed tool'], ['renamed', 'renamed tool'],
  ['text', 'changed description'], ['inputSchema', 'changed input schema'],
  ['outputSchema', 'changed output schema'],
])

/** What a server that was never accepted offers, by name. */
const contentsOf = (changes: readonly Change[]): readonly string[] => {
  const names = new Map<string, string[]>()
  for (const { part, name } of changes) {
    if (part !== 'server') names.set(part, [...(names.get(part) ?? []), plain(name, 60)])
  }
  const instructions = changes.some(({ class: kind }) => kind === 'instructions') ? ['instructions'] : []
  const counts = [...names].map(([of, all]) =>
    count(all.length, of) + (of === 'tool' || of === 'prompt' ? ` (${all.join(', ')})` : ''))
  return [...counts, ...instructions]
}

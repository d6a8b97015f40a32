import type { Fault, HealthRow, HeldGroup, OfferRow, RuleWords, Summary } from '../summary.js'
import { count, whole } from '../units.js'
import { Step } from './card.js'
import { countsIn, inRange, type Range } from './filter.js'
import { faults, stepsFor } from './reason.js'

/** A group that is shown, with its count in the range of time. */
export type HeldInRange = HeldGroup & { readonly times: number }

export const heldIn = (
  { held }: Summary, server: string | undefined, range: Range,
): readonly HeldInRange[] => inRange(held.rows, server, range)

/** What happened, in plain words. */
export const meaningOf = (
  { rule, newest }: HeldGroup, rules: Readonly<Record<string, RuleWords>>,
): string => rules[rule]?.means ?? newest.reason

interface NeedsProps {
  readonly summary: Summary
  readonly server: string | undefined
  readonly range: Range
}

/** The usual number of reasons under the heading; there are more if there are more kinds of reasons. */
const named = 4

/** Says whether anything needs the reader's attention, and names the most urgent reasons. */
export const Needs = ({ summary, server, range }: NeedsProps) => {
  const group = summary.servers.find(one => one.server === server) ?? summary.all
  const { all, blocked, demoted, others } = countsIn(group, range, summary)
  const broken = summary.logs?.filter(({ ok }) => !ok).length ?? 0
  const failed = inRange(summary.health, server, range)
  const down = failed.filter(({ isDown }) => isDown)
  const back = failed.filter(({ isDown }) => !isDown)
  const offers = inRange(summary.offers.rows, server, range)
  const namesOf = (rows: typeof offers) => new Set(rows.map(row => `${row.server} ${row.name}`))
  const missing = namesOf(offers.filter(row => row.isMissing))
  const changed = namesOf(offers.filter(row => !row.isMissing && row.rule === 'tool/drift')).size
  // Some findings were dropped for lack of room: they may be about further tools or definitions.
  const least = summary.offers.left > 0 ? 'at least ' : ''
  const said = [
    broken > 0 && `${count(broken, 'log')} of ${summary.logs?.length ?? 0} ${was(broken)} changed`,
    down.length > 0 && `${count(down.length, 'server')} ${down.length === 1 ? 'is' : 'are'} down`,
    back.length > 0 && `${count(back.length, 'server')} failed and ${back.length === 1 ? 'is' : 'are'} back`,
    missing.size > 0 && `${least}${count(missing.size, 'tool')} ${was(missing.size)} withheld`,
    changed > 0 && `${least}${count(changed, 'definition')} changed`,
    blocked > 0 && `${count(blocked, 'call')} ${was(blocked)} blocked`,
    demoted > 0
      && `${count(demoted, 'call')} ${was(demoted)} turned into ${demoted === 1 ? 'an error' : 'errors'}`,
    others > 0 && `${count(others, 'other message')} ${was(others)} held back`,
  ].filter(part => part !== false)
  const held = heldIn(summary, server, range)
  // Calls of a withheld tool have the same cause as its absence.
  const isOfMissing = (row: HeldInRange) =>
    row.rule === 'call/unlisted' && missing.has(`${row.server} ${row.subject}`)
  const callsOf = (row: OfferRow) => held
    .filter(one => isOfMissing(one) && one.server === row.server && one.subject === row.name)
    .reduce((sum, { times }) => sum + times, 0)
  const reasons = [
    ...down.map(row => ofHealth(row, 'is down')),
    ...reasonsOf(summary, [
      ...offers.filter(row => row.isMissing || row.rule === 'tool/drift').map(row => ({
        ...row, reason: row.message, state: row.isMissing ? 'was withheld' : 'changed', calls: callsOf(row),
      })),
      ...held.filter(row => !isOfMissing(row)).map(row => ({
        ...row, name: row.subject, reason: row.newest.reason, calls: 0,
        state: row.verdict === 'demote' ? 'was turned into an error' : 'was blocked',
      })),
    ]),
    ...back.map(row => ofHealth(row, 'failed, and has answered since')),
  ]
  const isBad = broken > 0 || reasons.some(({ fault }) => fault?.[0] === 'server')
  const shown = firstOf(reasons)
  const more = reasons.length - shown.length
  const passed = all === 0 ? 'No call was made' : `None of ${count(all, 'call')} was held back`
  return (
    <section class={`needs ${isBad ? 'bad' : 'good'}`} aria-label="Does anything need you?">
      <h2>{said.length === 0 ? `Nothing needs you. ${passed}.` : `${sentenceOf(said)}.`}</h2>
      {more > 0 && (
        <p>{count(reasons.length, 'reason')}: the first {shown.length} are here, {whole(more)} more below.</p>
      )}
      {reasons.length > 0 && (
        <ul>
          {shown.map(({ server: of, name, state, means, fault, times, next }) => (
            <li key={`${name} ${state} ${fault?.[0] ?? ''}`}>
              {fault !== undefined && <strong class={`fault ${fault[0]}`}>{fault[1]}</strong>}{' '}
              <b><bdi>{name}</bdi></b> {state}{times === 1 ? '' : ` ${whole(times)} times`}: {inWords(means)}
              {[...next].slice(0, 2).map(step => (
                <div key={step} class="next">What now: <Step text={step} server={of} /></div>
              ))}
            </li>
          ))}
        </ul>
      )}
      {said.length > 0 && more === 0 && <p>{isBad ? 'Nothing else needs you.' : 'Nothing needs you.'}</p>}
    </section>
  )
}

const ofHealth = (row: HealthRow & { readonly times: number }, state: string): Reason => ({
  server: row.server, name: row.server, state, times: row.times,
  means: new Map([[[row.reason, ...row.stderr.slice(-1)].join('; its last words: '), row.times]]),
  fault: row.isDown ? ['server', 'The server, or something it needs'] : undefined,
  next: new Set(row.isDown ? stepsFor(row).slice(0, 1) : []),
})

const was = (number: number): string => (number === 1 ? 'was' : 'were')

const sentenceOf = (parts: readonly string[]): string =>
  (parts.length < 2 ? parts.join('') : `${parts.slice(0, -1).join(', ')} and ${parts.at(-1) ?? ''}`)

interface Reason {
  readonly server: string
  readonly name: string
  /** The predicate of a sentence about `name`, such as `was blocked`. */
  readonly state: string
  /** The explanations, each with its number of times; 0 for one without a number. */
  readonly means: ReadonlyMap<string, number>
  /** The side at fault, and the label that says so. */
  readonly fault: readonly [kind: Fault, words: string] | undefined
  readonly next: ReadonlySet<string>
  readonly times: number
}

const inWords = (means: Reason['means']): string => {
  const isOne = [...means.values()].filter(times => times > 0).length < 2
  return [...means]
    .map(([text, times]) => (isOne || times === 0 ? text : `${whole(times)} times: ${text}`)).join(' ')
}

/** A row of the summary with the words for its reason. Rows of one name, state and fault become one. */
interface Named extends Pick<HeldInRange, 'server' | 'rule' | 'fault' | 'times'>, Pick<Reason, 'state'> {
  readonly name: string
  readonly reason: string
  /** Calls of it that were not sent, because it was withheld. */
  readonly calls: number
}

/** The kinds of reasons, the most urgent first. */
const urgency: readonly string[] = ['changed', 'was withheld', 'was blocked', 'was turned into an error']

/** One reason for each tool and kind: first changes, then mistakes of servers, then the more urgent kinds. */
const reasonsOf = ({ rules }: Summary, rows: readonly Named[]): readonly Reason[] => {
  const reasons = new Map<string, Reason>()
  for (const { server, name: subject, state, rule, fault: kind, times, reason: words, calls } of rows) {
    const name = subject === '' || subject === '…' ? server : `${server}.${subject}`
    const { means: plain, next = [] } = rules[rule] ?? {}
    // Only the finding's own words tell which part of the definition changed.
    const text = plain === undefined || rule !== 'tool/drift' ? plain ?? words : `${plain} (${words})`
    const fault = state === 'changed' ? ['server', 'Changed by the server'] as const
      : kind && [kind, faults[kind]] as const
    const key = `${name} ${state} ${kind ?? ''}`
    const before = reasons.get(key)
    const means = new Map(before?.means).set(text, (before?.means.get(text) ?? 0) + times)
    if (state === 'changed') means.set('Clients still get it.', 0)
    if (calls > 0) means.set(`${count(calls, 'call')} of it ${was(calls)} blocked.`, 0)
    reasons.set(key, {
      server, name, state, fault, means,
      next: new Set([...before?.next ?? [], ...next.slice(0, 1)]), times: (before?.times ?? 0) + times,
    })
  }
  const rank = ({ state, fault }: Reason) =>
    (state === 'changed' ? -1 : (fault?.[0] === 'server' ? 0 : 10) + urgency.indexOf(state))
  return [...reasons.values()].sort((a, b) => rank(a) - rank(b) || b.times - a.times)
}

/** The first reason of each kind, and as many others as there is room for, in the order of `reasons`. */
const firstOf = (reasons: readonly Reason[]): readonly Reason[] => {
  const first = new Map(reasons.toReversed().map(reason => [reason.state, reason]))
  const kinds = new Set(first.values())
  const room = Math.max(0, named - kinds.size)
  const others = new Set(reasons.filter(reason => !kinds.has(reason)).slice(0, room))
  return reasons.filter(reason => kinds.has(reason) || others.has(reason))
}

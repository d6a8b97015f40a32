import { wirePath } from '../protocol/quote.js'
import type { SchemaProblem } from '../core/check.js'
import type { Powers, Problem, Reading } from '../core/rule.js'
import type { Misfit } from '../protocol/revisions/shape.js'
import type { Meter } from '../protocol/json.js'
import type { Link, Part } from '../protocol/places.js'

/** Problems that one rule finds in one thing: enough to act on, and no more work for a peer that breaks it everywhere. */
export const maxProblems = 20

export const nothing: readonly Problem[] = []

/** The only problem that a rule finds. */
export const one = (path: string, message: string): readonly Problem[] => [{ path, message }]

type Kind = SchemaProblem['kind']

export const isMismatch = (kind: Kind): boolean => kind === 'mismatch'
export const isFormat = (kind: Kind): boolean => kind === 'format'
export const isNoVerdict = (kind: Kind): boolean => !isMismatch(kind) && !isFormat(kind)

/** The problems of a check that are of a rule's kinds. */
export const ofKind = (problems: readonly SchemaProblem[] | undefined, isIts: (kind: Kind) => boolean): readonly Problem[] =>
  // Nearly every check finds none.
  problems === undefined || problems.length === 0 ? nothing : problems.filter(({ kind }) => isIts(kind))

export const ofMisfits = (misfits: readonly Misfit[], path: string): readonly Problem[] =>
  misfits.length === 0 ? nothing : misfits.map(misfit => ({ path: below(path, ...misfit.path), message: misfit.message }))

/** A path, and what lies below it; the parts come from the wire. */
export const below = (path: string, ...parts: readonly (string | number)[]): string =>
  path + wirePath(...parts)

/** A rule that is asked alike about the result of a tool and about whatever else a model reads. */
export const readingRule = (judge: (reading: Reading, meter: Meter) => readonly Problem[]): Powers => ({ onResult: judge, onReading: judge })

/** A rule about each piece of the content that a model reads. */
export const partRule = (judge: (part: Part, reading: Reading, meter: Meter) => readonly Problem[]): Powers =>
  readingRule((reading, meter) => problemsOf(reading.parts, reading, meter, judge))

/** A rule about each icon, website or URI that stands where one belongs. */
export const linkRule = (kinds: readonly Link['kind'][], judge: (link: Link, meter: Meter) => readonly Problem[]): Powers => {
  const judgeLink = (link: Link, _: Reading, meter: Meter) => (kinds.includes(link.kind) ? judge(link, meter) : nothing)
  return readingRule((reading, meter) => problemsOf(reading.links, reading, meter, judgeLink))
}

/** Rules are asked about every piece of every result; a loop spares the arrays that each of them would cost. */
const problemsOf = <Thing>(
  things: readonly Thing[], reading: Reading, meter: Meter, judge: (thing: Thing, reading: Reading, meter: Meter) => readonly Problem[],
): readonly Problem[] => {
  let found = nothing
  for (const thing of things) {
    meter.pay(1)
    const problems = judge(thing, reading, meter)
    if (problems.length > 0) found = [...found, ...problems]
    if (found.length >= maxProblems) return found.slice(0, maxProblems)
  }
  return found
}

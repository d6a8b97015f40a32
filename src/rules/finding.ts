import { pointer } from '../protocol/json.js'
import { clip } from '../protocol/quote.js'
import type { SchemaProblem } from '../core/check.js'
import type { Finding, Reading, Rule } from '../core/rule.js'
import type { RuleName } from '../core/rule-name.js'
import type { Part } from '../protocol/mcp.js'

/** Findings of one rule about one thing: enough to act on, and no more work for a peer that breaks it everywhere. */
export const most = 20

export const nothing: readonly Finding[] = []

/** The only finding of a rule. */
export const one = (rule: RuleName, path: string, message: string): readonly Finding[] => [{ rule, path, message }]

type Kind = SchemaProblem['kind']

export const isMismatch = (kind: Kind): boolean => kind === 'mismatch'
export const isFormat = (kind: Kind): boolean => kind === 'format'
export const isNoVerdict = (kind: Kind): boolean => !isMismatch(kind) && !isFormat(kind)

/** The problems of a check that are of a rule's kinds, as findings of it. */
export const ofKind = (
  rule: RuleName,
  problems: readonly SchemaProblem[] | undefined,
  isIts: (kind: Kind) => boolean,
): readonly Finding[] =>
  // Nearly every check finds none.
  problems === undefined || problems.length === 0
    ? nothing
    : problems.filter(({ kind }) => isIts(kind)).map(({ path, message }) => ({ rule, path, message }))

/** A path, and what lies below it; the parts come from the wire. */
export const below = (path: string, ...parts: readonly (string | number)[]): string =>
  path + pointer(...parts.map(part => (typeof part === 'string' ? clip(part) : part)))

/**
 * A rule about each piece of the content that a model reads: the same for the result of a tool and for every other reading.
 * It is asked about every piece of every result; a loop spares the arrays that each of them would cost.
 */
export const partRule = (name: RuleName, judge: (part: Part, reading: Reading) => readonly Finding[]): Rule => {
  const judgeAll = (reading: Reading): readonly Finding[] => {
    const found: Finding[] = []
    for (const part of reading.parts) {
      for (const finding of judge(part, reading)) found.push(finding)
      if (found.length >= most) return found.slice(0, most)
    }
    return found
  }
  return { name, onResult: judgeAll, onReading: judgeAll }
}

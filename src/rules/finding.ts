import { pointer } from '../protocol/json.js'
import { clip } from '../protocol/quote.js'
import type { Finding, Reading, Rule } from '../core/rule.js'
import type { RuleName } from '../core/rule-name.js'

/** Findings of one rule about one thing: enough to act on, and no more work for a peer that breaks it everywhere. */
export const most = 20

export const nothing: readonly Finding[] = []

/** The only finding of a rule. */
export const one = (rule: RuleName, path: string, message: string): readonly Finding[] => [{ rule, path, message }]

/** A path, and what lies below it; the parts come from the wire. */
export const below = (path: string, ...parts: readonly (string | number)[]): string =>
  path + pointer(...parts.map(part => (typeof part === 'string' ? clip(part) : part)))

/** A rule about the content that a model reads: the same for the result of a tool and for every other reading. */
export const contentRule = (name: RuleName, judge: (reading: Reading) => readonly Finding[]): Rule => ({
  name,
  onResult: judge,
  onReading: judge,
})

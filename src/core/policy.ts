import type { RuleName } from './rule.js'

export const actions = ['off', 'log', 'demote', 'mend', 'block'] as const

export type Action = (typeof actions)[number]

export type Verdict = 'pass' | 'log' | 'mend' | 'demote' | 'block'

export type Policy = ReadonlyMap<RuleName, Action>

/** A rule that nobody configured blocks. */
export const actionOf = (policy: Policy, rule: RuleName): Action => policy.get(rule) ?? 'block'

const severity = { pass: 0, log: 1, mend: 2, demote: 3, block: 4 } as const

export const severer = (a: Verdict, b: Verdict): Verdict => (severity[a] >= severity[b] ? a : b)

/** Of verdicts, from the mildest to the severest. */
export const verdicts = Object.keys(severity) as readonly Verdict[]

/** True of what does not pass, mended or not. */
export const isStop = (decided: Action | Verdict): boolean => decided === 'block' || decided === 'demote'

import { difference } from '../protocol/difference.js'
import type { Edit } from '../protocol/edit.js'
import { isString, pointer, type JsonObject } from '../protocol/json.js'
import { clip } from '../protocol/quote.js'
import type { Findings } from './findings.js'
import type { Flow } from './flow.js'
import { actionOf, type Policy } from './policy.js'
import type { Mend, MendPower, Rule, RuleName, Subjects } from './rule.js'

/** The rules whose findings are mended, in the order in which they are. */
export type Mends = ReadonlyMap<RuleName, { readonly mend: Mend; readonly action: 'mend' | 'block' }>

/** What a policy says about mending. */
export interface Mending {
  readonly policy: Policy
  readonly mends: Mends
  /** The policy about what is not mended, because it cannot be or because nobody comes to it. */
  readonly unmended: Policy
}

export const mendingFor = (rules: readonly Rule[], policy: Policy): Mending => ({
  policy,
  mends: new Map(rules.flatMap(({ name, mend }) => {
    const action = actionOf(policy, name)
    if (mend === undefined || (action !== 'mend' && !(action === 'block' && mend.isBlock === true))) return []
    return [[name, { mend, action }]]
  })),
  unmended: new Map([...policy].map(([name, action]) => {
    const rule = rules.find(rule => rule.name === name)
    return [name, action === 'mend' ? (rule?.mend?.otherwise ?? 'block') : action]
  })),
})

/** A value that a rule's power was asked about, and what was found. */
export interface Judged<Asked extends MendPower> {
  readonly value: JsonObject
  readonly subject: Subjects[Asked]
  readonly findings: Findings
}

/**
 * Mends what the policy says is to be mended, one rule after the other, and judges it again each time, as what will be sent. A mend that
 * heals nothing, or breaks something else than good practice, is not made.
 * @param path JSON Pointer of the value in the frame
 * @param judge says of a changed value what it says of the first
 */
export function* mended<Asked extends MendPower>(
  mends: Mends, power: Asked, path: string, first: Judged<Asked>, judge: (value: JsonObject) => Flow<Judged<Asked>>,
): Flow<Judged<Asked>> {
  let last = first
  for (const [rule, { mend, action }] of mends) {
    if (!last.findings.has(rule)) continue
    const made = attempt(mend, power, last)
    if (made === undefined) continue
    const next = yield* judge(made.value)
    const { findings } = next
    if (findings.has(rule) || findings.rules.some(one => !last.findings.has(one) && !one.startsWith('advice/'))) continue
    findings.carry(last.findings, one => one === rule || mends.has(one) || mend.heals?.includes(one) === true)
    findings.mended(rule, action, last.findings, inWords(made.edits, path))
    last = next
  }
  return last
}

interface Made {
  readonly value: JsonObject
  readonly edits: readonly Edit[]
}

/** A mend that throws is none, and so is one that cannot be written down. */
const attempt = <Asked extends MendPower>(mend: Mend, power: Asked, { value, subject }: Judged<Asked>): Made | undefined => {
  const make: { readonly [Power in MendPower]?: (subject: Subjects[Power]) => JsonObject | undefined } = mend
  try {
    const made = make[power]?.(subject)
    const edits = made && difference(value, made)
    return made === undefined || edits === undefined || edits.length === 0 ? undefined : { value: made, edits }
  } catch {
    return undefined
  }
}

/** Changes that are told of one mend. */
const told = 5

const inWords = (edits: readonly Edit[], path: string): string => {
  const first = edits.slice(0, told).map(edit => {
    const place = path + pointer(...edit.path.map(step => (isString(step) ? clip(step) : step)))
    return `${'remove' in edit ? 'removed' : 'written'} ${place.slice(0, 200)}`
  })
  return first.join(', ') + (edits.length > told ? `, and ${edits.length - told} more` : '')
}

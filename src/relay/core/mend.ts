import { difference, type Edit, type Spelling } from '#relay/protocol/edit.js'
import { OverBudget, type JsonObject, type Meter } from '#relay/protocol/json.js'
import { wirePath } from '#relay/protocol/quote.js'
import { actionOf, type Findings } from './findings.js'
import type { Flow } from './flow.js'
import type { Mend, MendPower, Policy, Rule, RuleName, Subjects } from './vocabulary.js'

/** The rules whose findings are mended, in the order in which they are tried. */
export type Mends = ReadonlyMap<RuleName, Mend>

/** What a policy says about mending. */
export interface Mending {
  readonly policy: Policy
  readonly mends: Mends
  /** The policy for findings that are not mended. */
  readonly unmended: Policy
  /** Tools are shown without their output schemas (`Mend.hidesSchema`). */
  readonly hidesSchema: boolean
}

export const mendingFor = (rules: readonly Rule[], policy: Policy): Mending => {
  const mends = new Map(rules.flatMap(({ name, mend }) => {
    const action = actionOf(policy, name)
    if (mend === undefined || (action !== 'mend' && !(action === 'block' && mend.isBlock === true))) return []
    return [[name, mend] as const]
  }))
  const unmended = new Map([...policy].map(([name, action]) => {
    const rule = rules.find(rule => rule.name === name)
    return [name, action === 'mend' ? (rule?.mend?.otherwise ?? 'block') : action]
  }))
  return { policy, mends, unmended, hidesSchema: [...mends.values()].some(one => one.hidesSchema === true) }
}

/** The policy for a tool that the operator has relaxed. */
export const relaxed = (rules: readonly Rule[], policy: Policy): Policy =>
  new Map([...policy, ...rules.flatMap(one => (one.relaxed === true ? [[one.name, 'mend'] as const] : []))])

/** A value with the findings about it. */
export interface Judged<Asked extends MendPower> {
  readonly value: JsonObject
  readonly subject: Subjects[Asked]
  readonly findings: Findings
}

/** The mends, and the place of the value. */
interface Place<Asked extends MendPower> {
  readonly mends: Mends
  readonly power: Asked
  /** JSON Pointer of the value in the frame. */
  readonly path: string
  readonly spelling?: Spelling
}

/**
 * Mends a value by one rule after the other, and judges the result each time. A mend is dropped if its
 * finding remains, if it causes a finding of another rule (`advice/` rules do not count), or if the result
 * has no unambiguous JSON text.
 * @param judge judges a changed value; undefined when it must not be sent
 */
export function* mended<Asked extends MendPower>(
  place: Place<Asked>, first: Judged<Asked>, judge: (value: JsonObject) => Flow<Judged<Asked> | undefined>,
): Flow<Judged<Asked>> {
  const { mends, path, spelling } = place
  const { meter } = first.findings
  let last = first
  for (const [rule, mend] of mends) {
    if (!last.findings.has(rule)) continue
    let next: Judged<Asked> | undefined = last
    let edits: readonly Edit[] = []
    for (let left = mend.rounds ?? 1; left > 0 && next?.findings.has(rule) === true; left--) {
      const made: JsonObject | undefined = attempt(mend, place.power, next.subject, meter)
      edits = (made && difference(last.value, made, meter, spelling)) ?? []
      const isWritable: boolean = made !== undefined && edits.length > 0
        && (last === first || difference(first.value, made, meter, spelling) !== undefined)
      next = isWritable && made !== undefined ? yield* judge(made) : undefined
    }
    if (next === undefined) continue
    const { findings } = next
    if (
      findings.has(rule)
      || findings.rules.some(one => !last.findings.has(one) && !one.startsWith('advice/'))
    )
      continue
    findings.carry(last.findings, one => one === rule || mends.has(one) || mend.heals?.includes(one) === true)
    findings.mended(rule, last.findings, inWords(edits, path))
    last = next
  }
  return last
}

/** @returns undefined when the mend throws another error, or has no mend of this kind @throws OverBudget */
const attempt = <Asked extends MendPower>(
  mend: Mend, power: Asked, subject: Subjects[Asked], meter: Meter,
): JsonObject | undefined => {
  const make: {
    readonly [Power in MendPower]?: (subject: Subjects[Power], meter: Meter) => JsonObject | undefined
  } = mend
  try {
    return make[power]?.(subject, meter)
  } catch (error) {
    if (error instanceof OverBudget) throw error
    return undefined
  }
}

/** Most changes that the description of one mend names. */
const maxNamed = 5

export const inWords = (edits: readonly Edit[], path: string): string => {
  const first = edits.slice(0, maxNamed).map(edit => {
    const place = path + wirePath(...edit.path)
    return `${'remove' in edit ? 'removed' : 'written'} ${place.slice(0, 200)}`
  })
  return first.join(', ') + (edits.length > maxNamed ? `, and ${edits.length - maxNamed} more` : '')
}

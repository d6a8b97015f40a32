import type { Judgement, Ruling } from '#relay/core/options.js'
import { presetPolicy, rules } from '#relay/rules/index.js'

/** The parts of a judgement in one row. */
export interface Judging
  extends Partial<Ruling>, Partial<Omit<Judgement, 'ruling' | 'limits'>>, Partial<Omit<Judgement['limits'], 'tools'>> {
  readonly maxTools?: number
}

/** A judgement by every rule; what is not named is the usual of a test. */
export const judgementOf = ({
  policy = presetPolicy('standard', { purpose: 'relay', locked: false }), tools = new Map(), names, shapes,
  listMs = 1000, requestMs = 0, maxTools = 5000, ...others
}: Judging = {}): Judgement => ({
  server: 'weather', rules, trusted: true, intent: false, ...others,
  ruling: { policy, tools, names, shapes }, limits: { listMs, requestMs, tools: maxTools },
})

import { createHash } from 'node:crypto'
import type { Problem } from '#core/rule.js'
import type { Shape, Shapes } from '#core/shape.js'
import { type JsonObject, type Meter, OverBudget } from '#protocol/json.js'
import { accepts, type Refusal } from './accepts.js'
import { adapted } from './adapt.js'
import { automatic, profileFor, profileNamed } from './index.js'
import { withoutLeftOut } from './left-out.js'
import type { Profile } from './profile.js'

/** What the profiles say of a definition. */
interface Fitting {
  readonly refused: readonly Problem[]
  readonly made: JsonObject
}

/** Steps for all definitions of one frame: about half a second. */
const frameSteps = 20_000_000

/** Definitions that are remembered, so that a listing that repeats itself costs little; in characters. */
const maxKept = 16 * 1024 * 1024

/**
 * Chooses the profiles for each client of a server.
 * @param names of profiles; `auto` chooses by the name that the client gives itself
 * @param server its name, which some clients put before the names of its tools
 */
export const shapesOf = (names: readonly string[], server: string): Shapes | undefined => {
  if (names.length === 0) return undefined
  const fixed = names.flatMap(name => profileNamed(name) ?? [])
  const isAutomatic = names.includes(automatic)
  const made = new Map<string, Shape>()
  return {
    names,
    of: client => {
      const own = isAutomatic && client !== undefined ? profileFor(client.name) : undefined
      const chosen = own === undefined || fixed.includes(own) ? fixed : [...fixed, own]
      if (chosen.length === 0) return undefined
      const key = chosen.map(({ name }) => name).join(', ')
      const known = made.get(key) ?? shapeOf(chosen, server)
      made.set(key, known)
      return known
    },
  }
}

const shapeOf = (profiles: readonly Profile[], server: string): Shape => {
  const kept = new Map<string, Fitting & { readonly weight: number }>()
  let weight = 0
  /** A definition costs more than the rules' share of a frame allows, so it has a share of its own. */
  const meters = new WeakMap<Meter, Meter>()
  const fitting = (definition: JsonObject, frame: Meter): Fitting => {
    const text = JSON.stringify(definition)
    frame.payText(text)
    const digest = createHash('sha256').update(text).digest('base64')
    const known = kept.get(digest)
    if (known !== undefined) return known
    const meter = meters.get(frame) ?? frame.part(frameSteps)
    meters.set(frame, meter)
    const fit = attempt(definition, profiles, meter, server)
    const entry = { ...fit, weight: 3 * text.length }
    kept.set(digest, entry)
    weight += entry.weight
    for (const [oldest, { weight: gone }] of kept) {
      if (weight <= maxKept) break
      kept.delete(oldest)
      weight -= gone
    }
    return entry
  }
  const tools = profiles.flatMap(profile => profile.tools ?? [])
  const isStrict = profiles.some(({ input }) => input.isStrict === true)
  return {
    name: profiles.map(({ name }) => name).join(', '),
    tools: tools.length === 0 ? undefined : Math.min(...tools),
    refusals: (definition, meter) => fitting(definition, meter).refused,
    adapted: (definition, meter) => fitting(definition, meter).made,
    withoutLeftOut: (given, schema, meter) => (isStrict ? withoutLeftOut(given, schema, meter) : given),
  }
}

const attempt = (
  definition: JsonObject, profiles: readonly Profile[], meter: Meter, server: string,
): Fitting => {
  try {
    const refused = profiles.flatMap(profile => {
      const all = accepts(definition, profile, meter, server)
      return all.length === 0 ? [] : [{ path: '', message: `${profile.title}: ${summary(all)}` }]
    })
    return { refused, made: refused.length === 0 ? definition : adapted(definition, profiles, meter, server) }
  } catch (error) {
    if (!(error instanceof OverBudget)) throw error
    // It cannot be mended, so the rule keeps it from the client.
    return { refused: [{ path: '', message: 'has more parts than are looked at' }], made: definition }
  }
}

/** Reasons that are told in one finding; `inspect --profile` tells all. */
const maxTold = 3

/** One finding for a definition, because a frame has room for few. */
const summary = (refused: readonly Refusal[]): string => {
  const first = [...new Map(refused.map(one => [one.message, one])).values()]
  const told = first.slice(0, maxTold).map(({ path, message }) => `${message} at ${path}`)
  const more = first.length > maxTold ? [`and ${first.length - maxTold} more`] : []
  return [...told, ...more].join('; ')
}

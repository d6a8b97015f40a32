import { createHash } from 'node:crypto'
import { processLedger } from '#relay/core/memory.js'
import type { ClientShape, Problem, Shapes } from '#relay/core/vocabulary.js'
import { type JsonObject, type Meter, OverBudget, weigh } from '#relay/protocol/json.js'
import { fit } from './fit.js'
import { automatic, combinedOf, profilesFor } from './index.js'
import { withoutNulls } from './left-out.js'
import type { ProfileRefusal } from './node.js'
import type { Profile } from './profile.js'

/** What the profiles say of a definition. */
interface Fitting {
  readonly refused: readonly Problem[]
  /** Undefined: the definition itself. */
  readonly made: JsonObject | undefined
}

/** Most steps for one definition, during which no other session runs, and for all of one frame. */
const definitionSteps = 1_000_000
const frameSteps = 20_000_000

/** The steps that were spent on definitions of a frame, beside the rules' share of it. */
const spent = new WeakMap<Meter, number>()

/**
 * What was made of definitions, so that a listing that repeats itself costs little, by a digest of profiles
 * and definition. The process has one, because the profiles are made anew when the settings change.
 */
const kept = new Map<string, Fitting & { readonly weight: number }>()
const ledger = processLedger.account(16 * 1024 * 1024)

const keep = (digest: string, fitting: Fitting): void => {
  const { refused, made = null } = fitting
  const texts = refused.reduce((sum, { path, message }) => sum + path.length + message.length, 0)
  const weight = 300 + texts + weigh(made, ledger.max)
  for (const [oldest, { weight: gone }] of kept) {
    if (ledger.hasRoom(weight)) break
    kept.delete(oldest)
    ledger.add(-gone)
  }
  if (!ledger.hasRoom(weight)) return
  kept.set(digest, { ...fitting, weight })
  ledger.add(weight)
}

/**
 * Chooses the profiles for each client of a server.
 * @param names of profiles; `auto` chooses by the name that the client gives itself
 * @param server its name, which some clients put before the names of its tools
 */
export const shapesOf = (names: readonly string[], server: string): Shapes | undefined => {
  if (names.length === 0) return undefined
  const made = new Map<string, ClientShape>()
  return {
    names, isPersonal: names.includes(automatic),
    of: client => {
      const chosen = profilesFor(names, client)
      const profile = combinedOf(chosen)
      if (profile === undefined) return undefined
      const key = chosen.map(({ name }) => name).join(', ')
      const known = made.get(key) ?? shapeOf(key, profile, server)
      made.set(key, known)
      return known
    },
  }
}

const shapeOf = (name: string, profile: Profile, server: string): ClientShape => {
  const fitting = (definition: JsonObject, frame: Meter): Fitting => {
    const text = JSON.stringify([name, server, definition])
    frame.payText(text)
    const digest = createHash('sha256').update(text).digest('base64')
    const known = kept.get(digest)
    if (known !== undefined) return known
    const before = spent.get(frame) ?? 0
    const share = Math.min(definitionSteps, frameSteps - before)
    const meter = frame.part(share)
    const made = attempt(definition, profile, meter, server)
    spent.set(frame, before + share - meter.left)
    // A result that was cut short by the frame's share is not kept: another frame may have more steps left.
    if (share === definitionSteps) keep(digest, made)
    return made
  }
  return {
    name, tools: profile.tools === Infinity ? undefined : profile.tools,
    refusals: (definition, meter) => fitting(definition, meter).refused,
    adapted: (definition, meter) => fitting(definition, meter).made ?? definition,
    withoutNulls: profile.input.isStrict === true ? withoutNulls : undefined,
  }
}

/** A problem is minor where the client leaves out only the tool: the tool is then shown as it is. */
const attempt = (definition: JsonObject, profile: Profile, meter: Meter, server: string): Fitting => {
  try {
    const { refused, made } = fit(definition, profile, meter, server)
    if (refused.length === 0) return { refused: [], made: undefined }
    const message = `${profile.title}: ${summary(refused)}`
    return { refused: [{ path: '', message, isMinor: !profile.losesList }], made }
  } catch (error) {
    if (!(error instanceof OverBudget)) throw error
    // Whether the client refuses it is not known.
    return { refused: [{ path: '', message: 'has more parts than are looked at', isMinor: true }], made: undefined }
  }
}

/** Reasons that are told in one finding; `inspect --profile` tells all. */
const maxTold = 3

/** One finding for a definition, because a frame has room for few. */
const summary = (refused: readonly ProfileRefusal[]): string => {
  const first = [...new Map(refused.map(one => [one.message, one])).values()]
  const told = first.slice(0, maxTold).map(({ path, message }) => `${message} at ${path}`)
  const more = first.length > maxTold ? [`and ${first.length - maxTold} more`] : []
  return [...told, ...more].join('; ')
}

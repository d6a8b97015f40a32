import { type History, play, type WorldName } from './run.js'
import type { Step } from './world.js'

/** Most histories that are played to shrink one. */
const maxPlays = 400

/** Leaves steps out as long as the same invariant fails. */
export const shrink = async (world: WorldName, failing: History): Promise<History> => {
  const invariant = failing.violations[0]?.invariant
  let best = failing
  let plays = 0
  const fails = async (steps: readonly Step[]): Promise<boolean> => {
    plays += 1
    const history = await play(world, failing.seed, steps)
    if (history.violations[0]?.invariant !== invariant) return false
    best = history
    return true
  }
  for (let size = Math.ceil(best.steps.length / 2); size >= 1; size = Math.floor(size / 2)) {
    for (let at = 0; at < best.steps.length && plays < maxPlays;) {
      const { steps } = best
      const left = [...steps.slice(0, at), ...steps.slice(at + size)]
      if (!(await fails(left))) at += size
    }
    if (size === 1) break
  }
  return best
}

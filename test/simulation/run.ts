import { Chance } from './chance.js'
import { Gateway } from './worlds/gateway.js'
import { MergeWorld } from './worlds/merge.js'
import { SessionWorld } from './worlds/session.js'
import { TranslatedWorld } from './worlds/translated.js'
import { WrapWorld } from './worlds/wrap.js'
import type { Step, Violation, World } from './world.js'

/** The worlds by name. */
export const worlds = {
  gateway: Gateway, merge: MergeWorld, session: SessionWorld, translated: TranslatedWorld, wrap: WrapWorld,
} satisfies Record<string, new (seed: number) => World>
export type WorldName = keyof typeof worlds

export const isWorld = (name: string): name is WorldName => Object.hasOwn(worlds, name)

export interface History {
  readonly seed: number
  readonly steps: readonly Step[]
  readonly lines: readonly string[]
  readonly violations: readonly Violation[]
}

/** Most steps of a history, before everything comes to rest. */
const maxSteps = 60

/** Loaded before, so that no history waits for a file. */
export const warmUp = async (): Promise<void> => {
  await Promise.all([
    import('#relay/schema/index.js'), import('#relay/transport/upstream/pool.js'), import('#relay/transport/upstream/forward.js'),
    import('#relay/transport/upstream/authorized.js'), import('#relay/host/serve/state.js'),
    import('#relay/telemetry/observing.js'), import('#relay/host/serve/relay-process.js'), import('#relay/host/serve/gateway.js'),
  ])
  for (const seed of [1, 2, 3, 4, 5, 6, 7, 8]) await play('gateway', seed)
  await play('session', 1)
  await play('translated', 1)
  await play('wrap', 1)
  await play('merge', 1)
}

/** How many listeners this process has. */
const listeners = (): string =>
  process.eventNames().map(name => `${String(name)} ${process.listenerCount(name)}`).join()

/**
 * Plays one history.
 * @param plan the steps to take; those that are not possible are left out. Undefined: chance decides
 */
export const play = async (name: WorldName, seed: number, plan?: readonly Step[]): Promise<History> => {
  const before = listeners()
  const world = new worlds[name](seed)
  try {
    const { failed } = world
    process.on('uncaughtException', failed).on('unhandledRejection', failed)
    try {
      await world.open()
      await world.settle()
      if (plan === undefined) await byChance(world, seed)
      else await byPlan(world, plan)
      if (world.violations.length === 0) await world.checkAtRest()
    } catch (error) {
      failed(error)
    }
    process.off('uncaughtException', failed).off('unhandledRejection', failed)
  } finally {
    await world.close()
  }
  if (listeners() !== before) world.violate('nothing left', `listeners of this process: ${before} before, ${listeners()} now`)
  const { steps, lines, violations } = world
  return { seed, steps, lines, violations }
}

const byChance = async (world: World, seed: number): Promise<void> => {
  const chance = new Chance(seed ^ 0x9e3779b9)
  const length = 10 + chance.below(maxSteps)
  while (world.steps.length < length && world.violations.length === 0) {
    const actions = world.actions()
    const action = chance.weighted(actions)
    if (action === undefined) return
    const at = actions.filter(({ label }) => label === action.label).indexOf(action)
    await world.step(action, at, Math.floor(chance.next() * 2 ** 32))
  }
}

const byPlan = async (world: World, plan: readonly Step[]): Promise<void> => {
  for (const { label, at, seed } of plan) {
    if (world.violations.length > 0) return
    const same = world.actions().filter(one => one.label === label)
    const action = same[at] ?? same[0]
    if (action !== undefined) await world.step(action, at, seed)
  }
}

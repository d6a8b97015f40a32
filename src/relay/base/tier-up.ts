import { setFlagsFromString } from 'node:v8'

/**
 * The flag by which V8 decides when it optimizes a function, with a late and its usual value. Node 24 has a
 * cheaper compiler (Maglev) in front of TurboFan, and gains nothing.
 */
const tiers: ReadonlyMap<string, readonly [flag: string, late: number, usual: number]> = new Map([
  ['20', ['--interrupt-budget', 400_000, 67_584]],
  ['22', ['--invocation-count-for-turbofan', 20_000, 3000]],
])

/** Frames of the server after which a session is long enough to pay for optimized code. */
const manyFrames = 1000

let usually: string | undefined
let left = 0

/**
 * Most sessions of a desktop client end before optimized code pays: in the first thousand calls, compiling it
 * costs as much as all else (docs/speed.md). So V8 waits longer, until `frameCame` has counted `manyFrames`.
 * The flag is that of the whole process, so only a command sets it.
 */
export const optimizeLater = (version = process.versions.node, set = setFlagsFromString): void => {
  const tier = tiers.get(version.split('.', 1)[0] ?? '')
  if (tier === undefined) return
  const [flag, late, usual] = tier
  set(`${flag}=${late}`)
  usually = `${flag}=${usual}`
  left = manyFrames
}

/** A frame of the server came. */
export const frameCame = (set = setFlagsFromString): void => {
  if (left > 0 && --left === 0 && usually !== undefined) set(usually)
}

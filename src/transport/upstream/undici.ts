import { createRequire } from 'node:module'
import type * as Undici from 'undici'

const require = createRequire(import.meta.url)

/** The whole of it loads its fetch, its WebSocket and its caches as well: three times the milliseconds, and 9 MB that few relays need. */
export const whole = (): typeof Undici => require('undici') as typeof Undici

const part = (file: string): unknown => {
  try {
    return require(`undici/lib/${file}`)
  } catch {
    return undefined
  }
}

// A version that has them elsewhere is loaded whole.
export const errors = (part('core/errors.js') ?? whole().errors) as typeof Undici.errors
export const Pool = (part('dispatcher/pool.js') ?? whole().Pool) as typeof Undici.Pool

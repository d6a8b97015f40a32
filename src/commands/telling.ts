import type { Entry } from '../core/effect.js'
import type { OpenGuard } from './guard.js'

/** The same guard, telling what it has put on record. */
export const telling = (guard: OpenGuard, seen: (entry: Entry) => void): OpenGuard => ({
  ...guard,
  get policy() { return guard.policy },
  get tools() { return guard.tools },
  audit: entry => {
    guard.audit(entry)
    seen(entry)
  },
})

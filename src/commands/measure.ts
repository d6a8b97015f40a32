import { countedMethod, type Metrics } from '../admin/metrics.js'
import { actionOf } from '../core/policy.js'
import type { OpenGuard } from './guard.js'

/** The same guard, counting what it records and what crosses. */
export const measure = (guard: OpenGuard, metrics: Metrics): OpenGuard => ({
  ...guard,
  get policy() { return guard.policy },
  get tools() { return guard.tools },
  audit: entry => {
    guard.audit(entry)
    for (const { rule } of entry.findings) metrics.found(guard.name, rule, actionOf(guard.policy, rule))
    if (entry.ms === undefined) return
    metrics.answered({
      server: guard.name,
      method: countedMethod(entry.event),
      verdict: entry.verdict,
      relayMs: entry.ms - (entry.serverMs ?? 0),
      serverMs: entry.serverMs,
    })
  },
  moved: (from, bytes) => metrics.moved(guard.name, from, bytes),
})

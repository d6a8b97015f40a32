// Puts load on a relay by a client: one call at a time, or many in flight.
import { setTimeout as pause } from 'node:timers/promises'
import { quantile } from './figures.mjs'
import { cpuOf, relayOf } from './processes.mjs'

/** One call after the other, for so long and at least five times. @return quantiles of the time that one takes, in milliseconds */
export const sequential = async (call, ms) => {
  const times = []
  for (const from = performance.now(); times.length < 5 || performance.now() - from < ms;) {
    const began = performance.now()
    await call()
    times.push(performance.now() - began)
  }
  return { p50: quantile(times, 0.5), p95: quantile(times, 0.95), p99: quantile(times, 0.99) }
}

/** Calls until what is compiled while it runs has been: so many, or for so long. */
export const settle = async (call, calls, inFlight = 8, ms = 2500) => {
  const until = performance.now() + ms
  let left = calls
  await Promise.all(Array.from({ length: inFlight }, async () => { while (left-- > 0 && performance.now() < until) await call() }))
}

/**
 * Many calls in flight, for so long, and for so much of the relay's CPU time; counted after a time to warm up in which each place in flight has its
 * first answer, and until there were as many again.
 * @return `rate`, calls a second; `cpu`, seconds that the relay takes for 1000 calls
 */
export const concurrent = async (call, root, { warm, ms, cpuMs = 0, inFlight = 32 }) => {
  let done = 0
  let over = false
  const worker = async () => {
    while (!over) {
      await call()
      done++
    }
  }
  const workers = Promise.all(Array.from({ length: inFlight }, worker))
  const reach = async enough => { while (!enough()) await Promise.race([pause(5), workers]) }
  const began = performance.now()
  try {
    await reach(() => done >= inFlight && performance.now() - began >= warm)
    const pids = relayOf(root)
    const before = { done, at: performance.now(), cpu: cpuOf(pids) }
    await reach(() => performance.now() - before.at >= ms && done - before.done >= inFlight && (cpuMs === 0 || cpuOf(pids) - before.cpu >= cpuMs))
    const calls = done - before.done
    const seconds = (performance.now() - before.at) / 1000
    return { rate: calls / seconds, cpu: (cpuOf(pids) - before.cpu) / calls }
  } finally {
    over = true
    await workers.catch(() => {})
  }
}

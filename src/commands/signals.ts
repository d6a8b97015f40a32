import type { Lifetime } from './lifetime.js'

/**
 * Ends a lifetime at a signal, or at an error that nobody caught; each further one is in more of a hurry. From now on none of them
 * ends the process by itself.
 * @param urgency how much of a hurry each signal is in
 */
export const endAt = (urgency: Readonly<Partial<Record<NodeJS.Signals, number>>>, lifetime: Lifetime): void => {
  for (const [signal, times] of Object.entries(urgency)) {
    process.on(signal, () => {
      for (let time = 0; time < times; time += 1) lifetime.hurry()
    })
  }
  process.on('uncaughtException', error => lifetime.fail(error))
}

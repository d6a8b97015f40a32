import type { Link } from '../inspect/link.js'

/** The server leads a process group of its own: a Ctrl-C at the terminal reaches only us. */
export const interruptible = () => {
  const links: Link[] = []
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
  const interruption = {
    signal: undefined as (typeof signals)[number] | undefined,
    opened: (link: Link) => {
      links.push(link)
    },
    done: () => signals.forEach(signal => process.off(signal, heard)),
  }
  // It is asked and told at once, then killed.
  let urgency = 1
  const heard = (signal: (typeof signals)[number]) => {
    interruption.signal ??= signal
    urgency += 1
    for (const { session } of links) session.stop(urgency)
  }
  signals.forEach(signal => process.on(signal, heard))
  return interruption
}

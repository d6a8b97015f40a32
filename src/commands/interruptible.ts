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
  const heard = (signal: (typeof signals)[number]) => {
    interruption.signal ??= signal
    for (const { session } of links) {
      // The second request takes the second step: asked, then told.
      session.stop()
      session.stop()
    }
  }
  signals.forEach(signal => process.on(signal, heard))
  return interruption
}

/** Signals whose default is the end of this process, without a word to anybody. */
const deadly = ['SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGTERM', 'SIGABRT', 'SIGALRM', 'SIGUSR2', 'SIGXCPU', 'SIGBREAK'] as const satisfies readonly NodeJS.Signals[]

const acts = new Set<() => void>()

/**
 * Has something done at once when this process ends, however it does, short of SIGKILL: an exit, an error that nobody caught, a signal
 * for which nobody else listens. A process group of ours is not reached by what reaches us.
 * @returns what takes it back
 */
export const atLast = (act: () => void): (() => void) => {
  if (acts.size === 0) listen()
  acts.add(act)
  return () => {
    acts.delete(act)
    if (acts.size === 0) unlisten()
  }
}

const listen = (): void => {
  process.on('exit', actNow)
  for (const signal of deadly) process.on(signal, die)
}

const unlisten = (): void => {
  process.off('exit', actNow)
  for (const signal of deadly) process.off(signal, die)
}

const actNow = (): void => {
  for (const act of acts) act()
}

const die = (signal: NodeJS.Signals): void => {
  if (process.listenerCount(signal) > 1) return
  actNow()
  unlisten()
  process.kill(process.pid, signal)
}

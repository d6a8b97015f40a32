// What processes take, by /proc (Linux): a relay's are its own and those that it started, the server of these benchmarks aside.
import { readFileSync, readdirSync } from 'node:fs'
import { cpus } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'

const read = path => {
  try { return readFileSync(path, 'latin1') } catch { return '' }
}
/** The fields of `stat` after the name, which may hold anything. */
const statOf = pid => {
  const text = read(`/proc/${pid}/stat`)
  return text.slice(text.lastIndexOf(')') + 2).split(' ')
}

/** The process, and all that descend from it. */
const familyOf = root => {
  const parents = readdirSync('/proc').filter(name => /^\d+$/.test(name)).map(pid => [Number(pid), Number(statOf(pid)[1])])
  const family = [root]
  for (const member of family) family.push(...parents.filter(([, parent]) => parent === member).map(([pid]) => pid))
  return family
}
const isServer = pid => read(`/proc/${pid}/comm`) === 'bench-server\n'
export const relayOf = root => familyOf(root).filter(pid => !isServer(pid))

/** User and system time so far, in milliseconds. */
export const cpuOf = pids => pids.map(statOf).reduce((sum, stat) => sum + 10 * (Number(stat[11] ?? 0) + Number(stat[12] ?? 0)), 0)

/** As `cpuOf`, to the nanosecond, of threads that have not ended. */
export const preciseCpuOf = pids => {
  const threads = pids.flatMap(pid => { try { return readdirSync(`/proc/${pid}/task`).map(thread => `/proc/${pid}/task/${thread}/schedstat`) } catch { return [] } })
  return threads.reduce((sum, path) => sum + Number(read(path).split(' ')[0]), 0) / 1e6
}

/** Milliseconds that the machine was busy, and that this process and all that it started were, those that have ended as well. */
const busy = () => {
  const [user, nice, system, , , ...interrupts] = read('/proc/stat').split('\n', 1)[0].split(/\s+/).slice(1, 8).map(Number)
  const all = user + nice + system + interrupts.reduce((sum, time) => sum + time, 0)
  const own = familyOf(process.pid).map(statOf).flatMap(stat => stat.slice(11, 15)).reduce((sum, time) => sum + Number(time), 0)
  return { all: 10 * all, own: 10 * own }
}
/** @return a function that tells which share of the machine others have taken since, from 0 to 1 */
export const watchOthers = () => {
  const [before, from] = [busy(), performance.now()]
  return () => {
    const { all, own } = busy()
    return Math.max(0, (all - before.all - (own - before.own)) / ((performance.now() - from) * cpus().length))
  }
}

/** Resident memory, now and at most, in MB. */
export const memoryOf = pids => {
  const statuses = pids.map(pid => read(`/proc/${pid}/status`))
  const sum = name => statuses.reduce((total, text) => total + Number(new RegExp(`${name}:\\s+(\\d+)`).exec(text)?.[1] ?? 0), 0) / 1024
  return { now: sum('VmRSS'), peak: sum('VmHWM') }
}

/** In MB: their share of the pages that several processes have (PSS) with all that is their own, and that alone (USS). */
export const sharesOf = pids => {
  const texts = pids.map(pid => read(`/proc/${pid}/smaps_rollup`))
  const sum = name => texts.reduce((total, text) => total + Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(text)?.[1] ?? 0), 0) / 1024
  return { share: sum('Pss'), own: sum('Private_Clean') + sum('Private_Dirty') }
}

/** Ends a child and what it started; those that take longer than a moment are killed. */
export const end = async child => {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  const gone = new Promise(resolve => child.once('exit', resolve))
  const family = familyOf(child.pid)
  const tell = signal => { for (const pid of family) try { process.kill(pid, signal) } catch { /* it is gone */ } }
  tell('SIGTERM')
  await Promise.race([gone, pause(2000)])
  tell('SIGKILL')
  await gone
}

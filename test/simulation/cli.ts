import { fork, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { isWorld, play, warmUp, type WorldName } from './run.js'
import { shrink } from './shrink.js'

/*
 * npm run simulate -- SEED [--world NAME]            one history, and its shortest form if it fails
 * npm run simulate -- --for SECONDS [--count N] [--from SEED] [--world NAME] [--workers N]   many
 * npm run simulate -- --mutations [NAME] [--part 0/2]   whether each mutation of the program is caught
 */
const option = (name: string): string | undefined => {
  const at = process.argv.indexOf(`--${name}`)
  return at < 0 ? undefined : process.argv[at + 1] ?? ''
}
const named = option('world')
if (named !== undefined && !isWorld(named)) throw new Error(`no world ${named}`)

interface Found {
  readonly invariant: string
  readonly world: WorldName
  readonly seed: number
  readonly text: string
}

/** One history in six is of the whole gateway, which costs most. */
const inTurn: readonly WorldName[] = ['gateway', 'wrap', 'merge', 'session', 'session', 'translated']

const worldOf = (seed: number): WorldName => named ?? inTurn[seed % inTurn.length] ?? 'session'

const one = async (seed: number): Promise<void> => {
  const world = named ?? 'gateway'
  const history = await play(world, seed)
  for (const line of history.lines) console.log(line)
  const [violation] = history.violations
  if (violation === undefined) return console.log(`${history.steps.length} steps, and every invariant holds`)
  console.log(`FAILS ${violation.invariant}: ${violation.text}\n\nThe shortest history that fails like this:`)
  const short = await shrink(world, history)
  for (const line of short.lines) console.log(line)
  for (const { invariant, text } of short.violations) console.log(`FAILS ${invariant}: ${text}`)
  process.exitCode = 1
}

/** Earlier histories have left something in the heap of their process: what is too heavy is played alone. */
const isTooHeavyAlone = (seed: number, world: WorldName): boolean =>
  spawnSync(process.execPath, [fileURLToPath(import.meta.url), String(seed), '--world', world]).status !== 0

/** Plays the seeds of one worker until the time is over. @param cpuSeconds of its own work */
const many = async (
  seconds: number, from: number, step: number, most: number, cpuSeconds: number,
): Promise<void> => {
  const until = performance.now() + seconds * 1000
  const before = process.cpuUsage()
  const cpuMs = () => {
    const { user, system } = process.cpuUsage(before)
    return (user + system) / 1000
  }
  let seed = from
  let count = 0
  for (; performance.now() < until && cpuMs() < cpuSeconds * 1000 && count < most; seed += step, count++) {
    const world = worldOf(seed)
    const { violations } = await play(world, seed)
    const [violation] = violations
    if (violation === undefined) continue
    if (violation.invariant === 'weight' && !isTooHeavyAlone(seed, world)) {
      process.send?.({ isHeavy: true })
      continue
    }
    const found: Found = { invariant: violation.invariant, world, seed, text: violation.text }
    process.send?.({ found })
    // The next histories would not begin from nothing.
    if (violation.invariant === 'nothing left') break
  }
  process.send?.({ count, cpuMs: cpuMs() })
}

const together = async (): Promise<void> => {
  const seconds = Number(option('for') ?? 3600)
  const from = Number(option('from') ?? 1)
  const workers = Number(option('workers') ?? 1)
  const most = Math.ceil(Number(option('count') ?? Infinity) / workers)
  const found = new Map<string, number[]>()
  let [count, heavy, cpuMs] = [0, 0, 0]
  const take = (message: { found?: Found; count?: number; cpuMs?: number; isHeavy?: true }) => {
    count += message.count ?? 0
    if (message.isHeavy === true) heavy += 1
    cpuMs += message.cpuMs ?? 0
    if (message.found === undefined) return
    const { invariant, world, seed, text } = message.found
    const known = found.get(invariant)
    if (known) known.push(seed)
    else {
      found.set(invariant, [seed])
      console.log(`${invariant}: npm run simulate -- ${seed} --world ${world}\n  ${text.slice(0, 300)}`)
    }
  }
  const begun = performance.now()
  await Promise.all(Array.from({ length: workers }, (_, index) => {
    const child = fork(fileURLToPath(import.meta.url), [
      ...process.argv.slice(2), '--worker', `${seconds},${from + index},${workers},${most}`,
    ])
    child.on('message', take)
    return once(child, 'exit')
  }))
  const wall = (performance.now() - begun) / 1000
  console.log(`${count} histories in ${wall.toFixed(0)} s, ${(count / wall).toFixed(0)} in a second, ` +
    `${(cpuMs / Math.max(1, count)).toFixed(1)} ms of a processor each`)
  if (heavy > 0) console.log(`  ${heavy} sessions were too heavy beside others, and not alone`)
  for (const [invariant, seeds] of found) console.log(`  ${seeds.length} times: ${invariant}: ${seeds.slice(0, 20).join(' ')}`)
  if (found.size > 0) process.exitCode = 1
}

const worker = option('worker')
const [first] = process.argv.slice(2)
if (process.argv.includes('--mutations')) {
  const { checkMutations } = await import('./mutate.js')
  const wanted = option('mutations')
  await checkMutations(wanted?.startsWith('--') === true ? '' : wanted, option('part'))
} else if (worker !== undefined) {
  const [seconds = 1, from = 1, step = 1, most = Infinity, cpuSeconds = Infinity] = worker.split(',').map(Number)
  await warmUp()
  await many(seconds, from, step, most, cpuSeconds)
} else if (first !== undefined && /^\d+$/.test(first)) {
  await warmUp()
  await one(Number(first))
} else await together()
process.exit()

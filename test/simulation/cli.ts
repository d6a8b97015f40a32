import { play, warmUp, type WorldName } from './run.js'

const [first = '1', ...rest] = process.argv.slice(2)
const option = (name: string): string | undefined => {
  const at = process.argv.indexOf(`--${name}`)
  return at < 0 ? undefined : process.argv[at + 1]
}
const world = (option('world') ?? 'gateway') as WorldName

await warmUp()
if (option('for') !== undefined) {
  const until = performance.now() + Number(option('for')) * 1000
  const from = Number(option('from') ?? 1)
  const begun = process.cpuUsage()
  const found = new Map<string, number>()
  let seed = from
  for (; performance.now() < until; seed++) {
    const { violations } = await play(world, seed)
    const [violation] = violations
    if (violation === undefined) continue
    const count = found.get(violation.invariant) ?? 0
    found.set(violation.invariant, count + 1)
    if (count < 3) console.log(`seed ${seed}: ${violation.invariant}: ${violation.text.slice(0, 300)}`)
  }
  const { user, system } = process.cpuUsage(begun)
  console.log(`${seed - from} histories, ${((user + system) / 1000 / (seed - from)).toFixed(1)} ms of a processor each`)
  for (const [invariant, count] of found) console.log(`${count} ${invariant}`)
} else {
  const history = await play(world, Number(first))
  for (const line of history.lines) console.log(line)
  for (const { invariant, text } of history.violations) console.log(`FAILS ${invariant}: ${text}`)
}
void rest
process.exit()

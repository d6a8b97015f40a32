// Each bridge between a client and a server, with what may stand there: nothing, the least that can, peers, and ours. Rounds are interleaved.
import { isDeepStrictEqual } from 'node:util'
import { setTimeout as pause } from 'node:timers/promises'
import { expected, sizes } from './answers.mjs'
import { concurrent, sequential, settle } from './load.mjs'
import { memoryOf, relayOf, watchOthers } from './processes.mjs'
import { bridges, open, startUpstream } from './targets.mjs'

/** `calls`: so many before all others, so that what is alike for all sizes is warm. The rest but `starts` and `sizes` in milliseconds. */
const plans = {
  full: { starts: 3, calls: 5000, one: 300, warm: 200, many: 600, sizes },
  quick: { starts: 1, calls: 800, one: 80, warm: 30, many: 150, sizes: ['small', 'medium', 'rows', 'blob', 'rows-repeated'] },
}

/** Undefined when the client sees what the server sent; in words otherwise. */
const differing = async client => {
  const byName = ({ tools }) => new Map(tools.map(tool => [tool.name, tool]))
  if (!isDeepStrictEqual(byName(await client.ask('tools/list')), byName(expected.list))) return 'tools/list differs'
  for (const name of sizes) {
    const result = await client.ask('tools/call', { name, arguments: {} })
    if (!isDeepStrictEqual(result, expected.result(name))) return `${name} differs${result.isError ? `: ${result.content[0].text}` : ''}`
  }
}

const measure = async (bridge, target, plan) => {
  const upstream = await startUpstream(bridge)
  try {
    const starts = []
    for (let i = 1; i < plan.starts; i++) {
      const { startMs, close } = await open(bridge, target, upstream)
      starts.push(startMs)
      await close()
    }
    const { client, child, startMs, close } = await open(bridge, target, upstream)
    try {
      await pause(300)
      const idle = memoryOf(relayOf(child.pid)).now
      const answers = (await differing(client)) ?? 'exact'
      const names = bridge.sizes ?? plan.sizes
      await settle(() => client.call('small'), plan.calls)
      const figures = {}
      for (const name of names) {
        // What comes shorter than what was sent is no answer.
        const shortest = JSON.stringify(expected.result(name)).length
        const call = async () => {
          const length = await client.call(name)
          if (length < shortest) throw new Error(`${name}: an answer of ${length} bytes`)
        }
        await sequential(call, plan.warm)
        figures[name] = { ...await sequential(call, plan.one), ...await concurrent(call, child.pid, { warm: plan.warm, ms: plan.many }) }
      }
      await pause(300)
      const { now: loaded, peak } = memoryOf(relayOf(child.pid))
      return { starts: [...starts, startMs], idle, loaded, peak, answers, sizes: figures }
    } finally {
      await close()
    }
  } finally {
    upstream?.child.kill('SIGKILL')
  }
}

/** @return a run for each round, bridge and target; `missing` or `failed` where there is nothing to tell */
export const measureBridges = async ({ groups, only, rounds, quick, note }) => {
  const runs = []
  for (let round = 0; round < rounds; round++) {
    for (const bridge of bridges.filter(({ name }) => groups === undefined || groups.includes(name))) {
      const wanted = Object.entries(bridge.targets).filter(([name]) => only === undefined || only.includes(name))
      // Each is first in some round: what the machine does at the beginning is nobody's alone.
      const order = wanted.map((_, index) => wanted[(index + round) % wanted.length])
      for (const [name, target] of order) {
        const [began, others] = [performance.now(), watchOthers()]
        const figures = target.missing ? { missing: true } : await measure(bridge, target, quick ? plans.quick : plans.full).catch(error => ({ failed: error.message.slice(0, 300) }))
        runs.push({ round, bridge: bridge.name, target: name, others: others(), ...figures })
        note(`round ${round + 1} of ${rounds}, ${bridge.name}, ${name}: ${((performance.now() - began) / 1000).toFixed(0)} s ${figures.failed ?? ''}`)
      }
    }
  }
  return runs
}

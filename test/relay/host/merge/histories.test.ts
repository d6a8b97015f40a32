import t from 'tap'
import { historyOf } from './histories.js'

/** More of them: MCP_CUSTOMS_HISTORIES=200000 npx tap build/relay/host/merge/histories.test.js */
const count = Number(process.env['MCP_CUSTOMS_HISTORIES'] ?? 300)

t.test('in random histories each request has one answer, from the right server', { timeout: 0 }, t => {
  for (let seed = 1; seed <= count; seed += 1) {
    const broken = historyOf(seed)
    if (broken !== undefined) t.fail(`seed ${seed}: ${broken}`)
  }
  t.pass(`${count} histories`)
  t.end()
})

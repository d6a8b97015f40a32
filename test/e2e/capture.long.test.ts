import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import t from 'tap'
import { cli, scratch, stdioToHttp, stdioToStdio } from './bridge.js'
import { cases } from './cases/index.js'
import { httpToHttp, httpToStdio, posted } from './http-bridges.js'
import { runCases, together } from './run-cases.js'

// Sessions in which rules are broken in every way, over every bridge: run again by their own settings they
// are what they were.

t.jobs = 3

const everything = process.env['MCP_CUSTOMS_TEST_ALL'] !== undefined

/**
 * A session of many cases shows more than many sessions of one; these are enough for each bridge to have
 * some.
 */
const groups = together(posted(cases), 16).filter(group => everything || group.length > 4)

for (const [index, bridge] of [stdioToStdio, stdioToHttp, httpToStdio, httpToHttp].entries()) {
  // Every group over one of the bridges.
  for (const group of groups.filter((_, place) => everything || place % 4 === index)) {
    const [first] = group
    t.test(`${bridge.name}: ${first?.rule}: ${first?.name}, and ${group.length - 1} more`, {
      buffered: true,
    }, async t => {
      const file = join(scratch(t), 'capture.ndjson')
      const config = group[0]?.config
      const full = { ...config, audit: { payloads: 'full' } }
      await runCases(
        t, group.map(each => ({ ...each, config: full, options: [...each.options, '--capture', file] })),
        bridge,
      )
      const { stdout, stderr } =
        spawnSync(process.execPath, [cli, 'replay', '--json', file], { encoding: 'utf8', maxBuffer: 1e8 })
      t.equal(stderr, '')
      const { same, sessions, incomplete, changes, rewritten } = JSON.parse(stdout) as Record<string, unknown>
      t.strictSame(
        { same, incomplete, changes, rewritten }, { same: true, incomplete: 0, changes: [], rewritten: [] },
      )
      t.ok(Number(sessions) > 0)
    })
  }
}

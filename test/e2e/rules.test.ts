import t from 'tap'
import { stdioToHttp, stdioToStdio } from './bridge.js'
import { cases } from './cases/index.js'
import { httpToHttp, httpToStdio, posted } from './http-bridges.js'
import { runCases, together } from './run-cases.js'

t.jobs = 3

const bridges = [
  [stdioToStdio, cases], [stdioToHttp, posted(cases)], [httpToStdio, posted(cases)],
  [httpToHttp, posted(cases)],
] as const

for (const [bridge, cases] of bridges) {
  for (const group of together(cases)) {
    const [first] = group
    t.test(
      `${bridge.name}: ${first?.rule}: ${first?.name}, and ${group.length - 1} more`, { buffered: true },
      t => runCases(t, group, bridge),
    )
  }
}

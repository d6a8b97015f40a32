import t from 'tap'
import { stdioToHttp } from './bridge.js'
import { cases } from './cases/index.js'
import { posted } from './http-bridges.js'
import { runCases, together } from './run-cases.js'

t.jobs = 3

for (const group of together(posted(cases))) {
  const [first] = group
  t.test(`${first?.rule}: ${first?.name}, and ${group.length - 1} more`, { buffered: true }, t => runCases(t, group, stdioToHttp))
}

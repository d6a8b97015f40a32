import t from 'tap'
import { stdioToStdio } from './bridge.js'
import { cases } from './cases/index.js'
import { runCase } from './run-case.js'

t.jobs = 4

for (const each of cases) {
  t.test(`${each.rule}: ${each.name}`, { buffered: true }, t => runCase(t, each, stdioToStdio))
}

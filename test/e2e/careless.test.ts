import t from 'tap'
import { stdioToStdio } from './bridge.js'
import { judgeCareless, policies } from './careless.js'

t.jobs = 3
for (const policy of policies) {
  t.test(`wrap, ${policy}: careless servers`, t => judgeCareless(t, stdioToStdio, policy))
}

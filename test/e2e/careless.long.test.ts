import t from 'tap'
import { stdioToHttp } from './bridge.js'
import { judgeCareless, policies } from './careless.js'
import { httpToHttp, httpToStdio } from './http-bridges.js'

t.jobs = 2
for (const bridge of [stdioToHttp, httpToStdio, httpToHttp]) {
  for (const policy of policies) {
    t.test(`${bridge.name}, ${policy}: careless servers`, t => judgeCareless(t, bridge, policy))
  }
}

import t from 'tap'
import { stdioToHttp } from './bridge.js'
import { cases } from './cases/index.js'
import { httpToHttp, httpToStdio, posted } from './http-bridges.js'
import { runAllCases } from './run-cases.js'

t.jobs = 3
for (const bridge of [stdioToHttp, httpToStdio, httpToHttp]) runAllCases(t, posted(cases), bridge)

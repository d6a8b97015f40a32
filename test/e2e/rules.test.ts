import t from 'tap'
import { stdioToStdio } from './bridge.js'
import { cases } from './cases/index.js'
import { runAllCases } from './run-cases.js'

t.jobs = 3
runAllCases(t, cases, stdioToStdio)

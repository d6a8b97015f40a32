import t from 'tap'
import { cases } from './cases/index.js'
import { httpToHttp, httpToStdio } from './http-bridges.js'
import { runCases, together } from './run-cases.js'

t.jobs = 3

// Over HTTP a message that is too long is refused by its length, with 413, before anybody has read its id.
const posted = cases.filter(({ name }) => name !== 'from the client: a request that is too long')

for (const bridge of [httpToStdio, httpToHttp]) {
  for (const group of together(posted)) {
    const [first] = group
    t.test(`${bridge.name}: ${first?.rule}: ${first?.name}, and ${group.length - 1} more`, { buffered: true }, t => runCases(t, group, bridge))
  }
}

import t from 'tap'
import { Refusals, type ToldRefusal } from '#relay/host/serve/audits.js'
import { ManualTimers } from '../relay/transport/timers.js'

const minute = 60_000
const refused = (address: string, message = 'no') => ({ status: 401, message, address, path: '/mcp' })

const start = () => {
  const told: ToldRefusal[] = []
  const timers = new ManualTimers()
  return { told, timers, refusals: new Refusals(one => told.push(one), timers) }
}

t.test('the first refusal of a kind is reported at once, others as a count per minute', t => {
  const { told, timers, refusals } = start()
  for (let i = 0; i < 5; i++) refusals.note(refused('a'))
  refusals.note(refused('b'))
  refusals.note(refused('a', 'other'))
  t.match(told, [{ address: 'a', times: 1 }, { address: 'b', times: 1 }, { message: 'other', times: 1 }])
  timers.fire(minute)
  t.match(told.slice(3), [{ address: 'a', message: 'no', times: 4 }])
  t.equal(told.length, 4)
  refusals.note(refused('a'))
  refusals.note(refused('a'))
  refusals.flush()
  t.match(told.slice(4), [{ times: 1 }, { times: 1 }])
  t.end()
})

t.test('the number of kinds counted separately is bounded', t => {
  const { told, refusals } = start()
  for (let i = 0; i < 5000; i++) refusals.note(refused(`10.0.0.${i}`))
  t.equal(told.length, 1001)
  t.equal(told.at(-1)?.address, 'others')
  t.end()
})

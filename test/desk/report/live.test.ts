import t from 'tap'
import { Live } from '#desk/report/live.js'
import { summaryParts, windowSummary } from '#desk/report/summary.js'
import { summaryOf as summaryIn, take, totals as counted } from '#desk/report/totals/totals.js'
import { counts, record } from './records.js'

/** A live feed with a manual clock. */
const open = () => {
  const totals = counted.empty()
  let now = 1000
  let due: { readonly at: number; readonly run: () => void } | undefined
  const live = new Live({
    parts: () => summaryParts(summaryIn(totals, 0)),
    clock: () => now,
    after: (ms, run) => {
      due = { at: now + ms, run }
      return () => void (due = undefined)
    },
  })
  return {
    live,
    take: (more = {}) => {
      take(totals, record(more))
      live.changed()
    },
    /** Advances the clock. @returns whether a timer fired */
    pass: (ms: number): boolean => {
      now += ms
      const waiting = due
      if (waiting === undefined || waiting.at > now) return false
      due = undefined
      waiting.run()
      return true
    },
  }
}

const viewer = () => {
  const sent: string[] = []
  const it = {
    sent,
    takes: true,
    isCut: false,
    send: (json: string) => {
      sent.push(json)
      return it.takes
    },
    cut: () => void (it.isCut = true),
    /** The summary that the page has received. */
    summary: () => windowSummary(new Map(sent.flatMap(json => Object.entries(JSON.parse(json) as object)))),
  }
  return it
}

t.test('a new viewer is sent the whole summary, and then the parts that changed', t => {
  const { live, take, pass } = open()
  take({ server: 'files' })
  take({ server: 'weather' })
  const one = viewer()
  live.add(one)
  t.match(one.summary(), { records: 2, servers: [{ server: 'files' }, { server: 'weather' }] })
  take({ server: 'weather', verdict: 'block' })
  t.ok(pass(0), 'sent at once, as the last message was long ago')
  const all = { calls: counts({ pass: 2, block: 1 }) }
  t.match(one.summary(), { records: 3, all, held: { rows: [{ server: 'weather' }] } })
  const parts = Object.keys(JSON.parse(one.sent[1] ?? '') as object).sort()
  t.strictSame(parts, ['all', 'head', 'held', 'server weather', 'sessions'], 'only changed parts are sent')
  t.end()
})

t.test('many records in a short time are sent in few messages', t => {
  const { live, take, pass } = open()
  const one = viewer()
  live.add(one)
  for (let index = 0; index < 100; index += 1) {
    take()
    pass(10)
  }
  t.ok(one.sent.length <= 5, `${one.sent.length} messages in a second`)
  pass(1000)
  t.match(one.summary(), { records: 100 })
  t.end()
})

t.test('without viewers no summary is made', t => {
  const { live, take, pass } = open()
  take()
  t.notOk(pass(10_000))
  const one = viewer()
  live.add(one)
  take()
  live.remove(one)
  t.notOk(pass(10_000))
  t.equal(one.sent.length, 1)
  t.end()
})

t.test('a slow viewer skips versions but no part, delays nobody, and is disconnected in the end', t => {
  const { live, take, pass } = open()
  const [slow, quick] = [viewer(), viewer()]
  slow.takes = false
  live.add(slow)
  live.add(quick)
  for (let second = 0; second < 20; second += 1) {
    take({ server: `server-${second}` })
    pass(1000)
  }
  t.strictSame([slow.sent.length, quick.sent.length], [1, 21])
  slow.takes = true
  live.drained(slow)
  t.equal(slow.sent.length, 2)
  t.strictSame(slow.summary(), quick.summary())
  slow.takes = false
  take()
  pass(1000)
  for (let second = 0; second < 40; second += 1) {
    take()
    pass(1000)
  }
  t.strictSame([slow.isCut, live.viewers, quick.isCut], [true, 1, false])
  live.close()
  t.strictSame([quick.isCut, live.viewers], [true, 0])
  t.end()
})

import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { RelayEnd } from '#relay/transport/channel/relay-end.js'
import { Wire } from '#relay/transport/channel/wire.js'
import { duplexPair } from '#test/duplex.js'

const head = {
  path: '/mcp', method: 'POST', httpVersion: '1.1', headers: {},
  address: '::1', token: null, isSecure: false, agreed: null, place: null,
}

t.test('nothing is kept of a response that is over', async t => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const [near, far] = duplexPair()
  const responses: WeakRef<object>[] = []
  const relay = new RelayEnd(far, {
    serve: (_, response) => {
      responses.push(new WeakRef(response))
      response.writeHead(200)
      response.end(Buffer.from('done'))
    },
    calls: {}, closed: () => undefined,
  })
  let answered = 0
  const front = new Wire(near, {
    frame: kind => void (answered += kind === 'last' ? 1 : 0), closed: () => undefined,
  })
  for (const exchange of [1, 2, 3]) {
    front.sendJson('open', exchange, head)
    front.send('bodyEnd', exchange)
  }
  while (answered < 3) await new Promise(setImmediate)
  for (const exchange of [1, 2, 3]) front.send('gone', exchange)
  while (relay.inFlight > 0) await new Promise(setImmediate)
  collect()
  t.same(responses.map(one => one.deref()), [undefined, undefined, undefined])
  front.close()
})

import t from 'tap'
import { stdioExchange } from '#relay/core/event.js'
import { translated } from '#relay/eras/stage.js'
import type { Translator } from '#relay/eras/translator.js'
import type { Frame } from '#relay/protocol/frame.js'
import type { Transport, TransportEvent } from '#relay/transport/transport.js'
import { frameOf } from './modern.js'

/** The stage of a translator, between a client and a relay that the test plays. */
const play = (translator: Translator) => {
  let report: (event: TransportEvent) => void = () => undefined
  const sent: Frame[] = []
  const reported: string[] = []
  const client: Transport = {
    start: onEvent => void (report = onEvent),
    send: (_, frame) => sent.push(frame) > 0,
    pause: () => undefined,
    resume: () => undefined,
    close: () => Promise.resolve(),
  }
  translated(client, translator, { began: () => undefined, leftOut: () => undefined })
    .start(({ type }) => void reported.push(type))
  const say = (message: object) => report({ type: 'frame', exchange: stdioExchange, frame: frameOf(message) })
  return { say, sent, reported }
}

t.test('a request whose translation fails gets an error, and the session of its client goes on', t => {
  const { say, sent, reported } = play({
    handle: event => {
      if (event.from === 'client' && event.event.type === 'frame' && event.event.frame.message.kind === 'request'
        && event.event.frame.message.method === 'odd') throw new Error('it is odd')
      return undefined
    },
  })
  say({ id: 7, method: 'odd' })
  say({ id: 8, method: 'tools/list' })
  t.match(sent.map(({ message }) => message), [
    { kind: 'error', id: 7, error: { code: -31000, message: 'mcp-customs: the translation failed: it is odd' } },
  ])
  t.strictSame(reported, ['frame'])
  t.end()
})

t.test('a message without an answer whose translation fails ends the session', t => {
  const { say, sent, reported } = play({
    handle: () => {
      throw new Error('it is odd')
    },
  })
  say({ method: 'notifications/odd' })
  t.strictSame([reported, sent], [['ended'], []])
  t.end()
})

import t from 'tap'
import { Script } from './script.js'

/** Spelt as no id of JSON is. */
const spellings = [
  '01', '02', '00', '-00', '01.5', '-01', '1.', '+1', '0x1', '1e', '1e400', '-', '"', '"\\x"',
]

/** Each with an id in it, as either side may send it. */
const frames = [
  (id: string) =>
    `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"weather","arguments":{}}}`,
  (id: string) => `{"jsonrpc":"2.0","id":${id},"result":{}}`,
  (id: string) => `{"result":{},"jsonrpc":"2.0","id":${id}}`,
  (id: string) => `{"jsonrpc":"2.0","id":${id},"error":{"code":1,"message":"m"}}`,
  (id: string) => `[{"jsonrpc":"2.0","id":${id},"method":"ping"}]`,
  (id: string) => `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":${id}}}`,
  (id: string) => `{"jsonrpc":"2.0","id":3,"id":${id},"method":"ping"}`,
]

for (const stateless of [false, true]) {
  t.test(`an id that is not valid JSON's grammar ends no ${stateless ? 'relay without sessions' : 'session'}, whoever sends it`, async t => {
    const relay = new Script({ stateless }).begin()
    relay.client({ jsonrpc: '2.0', id: 1, method: 'ping' })
    for (const spelling of spellings) {
      for (const frame of frames) {
        for (const from of ['client', 'server'] as const) {
          const did = relay[from](frame(spelling))
          t.notMatch(did, [['close', String]], frame(spelling))
        }
      }
    }
    for (const { to, bytes } of relay.raw) {
      if (to === 'client') t.doesNotThrow(() => JSON.parse(bytes) as unknown, bytes)
    }
    t.match(relay.client({ jsonrpc: '2.0', id: 2, method: 'ping' }), [['to server', { id: 2 }]], 'it goes on')
  })
}

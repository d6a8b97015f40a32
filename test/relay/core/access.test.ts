import t from 'tap'
import { Script, type Setting } from './script.js'

// Where access is restricted, no spelling of a call passes that the relay does not read as a call.
const call = '"method":"tools/call","params":{"name":"write_file","arguments":{}}'
const spellings: readonly (readonly [what: string, text: string])[] = [
  ['a notification', `{"jsonrpc":"2.0",${call}}`],
  ['without jsonrpc', `{"id":1,${call}}`],
  ['with jsonrpc 1.0', `{"jsonrpc":"1.0","id":1,${call}}`],
  ['with the id null', `{"jsonrpc":"2.0","id":null,${call}}`],
  ['with an id that is an object', `{"jsonrpc":"2.0","id":{},${call}}`],
  ['keys in another case', '{"jsonrpc":"2.0","id":1,"Method":"tools/call","params":{"Name":"write_file"}}'],
  ['a method that stands twice', `{"jsonrpc":"2.0","id":1,"method":"ping",${call}}`],
  ['a batch', `[{"jsonrpc":"2.0","id":1,${call}}]`],
  ['cut off', `{"jsonrpc":"2.0","id":1,${call}`],
  ['text behind it', `{"jsonrpc":"2.0","id":1,${call}} x`],
]

const restrictions: readonly (readonly [what: string, options: Setting])[] = [
  ['a pattern denies tools', { names: { deny: ['write_*'] } }],
  ['a token names the client', { peer: { address: '127.0.0.1', token: 0 } }],
  ['a subject names the client', { peer: { address: '127.0.0.1', token: undefined, subject: { scopes: [] } } }],
]

for (const action of ['log', 'off'] as const) {
  const actions = { 'wire/json': action, 'wire/json-rpc': action, 'wire/ambiguous': action } as const
  for (const [restriction, options] of restrictions) {
    t.test(`${restriction}: no spelling of a call reaches the server where the wire rules are ${action}`, t => {
      for (const [what, text] of spellings) {
        const script = new Script({ actions, ...options })
        const effects = script.client(text)
        t.notOk(effects.some(([effect]) => effect === 'to server'), what)
      }
      t.end()
    })
  }
  t.test(`without a restriction they pass where the wire rules are ${action}`, t => {
    const passed = spellings.filter(([, text]) =>
      new Script({ actions }).client(text).some(([effect]) => effect === 'to server'))
    t.ok(passed.length >= 6, passed.map(([what]) => what).join())
    t.end()
  })
}

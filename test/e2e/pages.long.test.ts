import t from 'tap'
import { stdioToHttp, stdioToStdio, type Open } from './bridge.js'
import { answer, call, initializeOf, legacy, on, request, type Reaction } from './cases.js'
import { httpToHttp, httpToStdio } from './http-bridges.js'
import { okay } from './sessions.js'

// Lists in pages: joined under compat, read whole for a call that comes before any list.

t.jobs = 2

const tool = (name: string) => `{"name":"${name}","inputSchema":{"type":"object"}}`
const page = (names: readonly string[], next?: string) => {
  const more = next === undefined ? '' : `,"nextCursor":"${next}"`
  return answer('$ID', `{"tools":[${names.map(tool).join(',')}]${more}}`)
}
const asked = (cursor: string, say: string): Reaction => ({ when: `"cursor":"${cursor}"`, say: [say] })

const hello = initializeOf('"hello"')
const welcome = answer(
  '"hello"',
  `{"protocolVersion":"${legacy}","capabilities":{"tools":{}},"serverInfo":{"name":"pages","version":"1"}}`,
)

const kinds: Readonly<Record<string, { pages: readonly Reaction[]; last: string; first: string }>> = {
  'a cursor that comes again': {
    pages: [asked('1', page(['b'], '1')), on('tools/list', page(['a'], '1'))], last: 'b', first: '1',
  },
  'three pages': {
    pages: [asked('2', page(['c'])), asked('1', page(['b'], '2')), on('tools/list', page(['a'], '1'))],
    last: 'c', first: '1',
  },
  'a page behind the empty cursor': {
    pages: [asked('', page(['b'])), on('tools/list', page(['a'], ''))], last: 'b', first: '',
  },
  'the empty cursor for ever': { pages: [on('tools/list', page(['a'], ''))], last: 'a', first: '' },
}

const greet = async (open: Open): Promise<void> => {
  open.send(hello)
  t.equal(await open.next(), welcome)
  open.send('{"jsonrpc":"2.0","method":"notifications/initialized"}')
}

for (const bridge of [stdioToStdio, stdioToHttp, httpToStdio, httpToHttp])
  for (const policy of ['observe', 'standard', 'compat'])
    for (const [name, { pages, last, first }] of Object.entries(kinds))
      t.test(`${bridge.name}, ${policy}: ${name}`, async t => {
        const reactions = [on('initialize', welcome), on('tools/call', okay('$ID')), ...pages]
        const open = await bridge.open(t, { options: ['--policy', policy], config: undefined, reactions })
        await greet(open)
        open.send(call(legacy, '5', last))
        t.equal(await open.next(), okay('5'), 'a call before any list')
        open.send(request(legacy, '6', 'tools/list'))
        const { result } = JSON.parse(await open.next()) as {
          result: { tools: readonly { name: string }[]; nextCursor?: string }
        }
        const isJoined = policy === 'compat' && first !== ''
        t.equal(result.nextCursor, isJoined ? undefined : first)
        t.equal(result.tools.at(-1)?.name, isJoined ? last : 'a')
        await open.close()
      })

import t from 'tap'
import type { NamePatterns } from '#relay/core/options.js'
import { inOwnNames } from '#relay/host/merge/own-names.js'

const setting = { denied: true, outputSchema: undefined, annotations: undefined }
const files = { name: 'a', prefix: 'fs' }
const merge = { path: '/mcp', separator: '__', servers: [files, { name: 'b', prefix: '' }] }

t.test('tools may be named as the merged endpoint shows them', t => {
  const names = {
    allow: ['fs__read*', 'list'], deny: ['*__write_*', 'b__x', 'f*'],
    clients: [[{ match: { name: 'c' }, allow: ['*s__*'], deny: ['fs_*'] }]],
  }
  const tools = new Map([['fs__write', setting], ['minor', setting]])
  const own = inOwnNames({ name: 'a', tools, names }, merge)
  t.strictSame([...own.tools.keys()], ['fs__write', 'write', 'minor'], 'in the order of the operator')
  t.strictSame(own.names, {
    allow: ['fs__read*', 'read*', 'list'], deny: ['*__write_*', 'write_*', '_write_*', 'b__x', 'f*', '*'],
    clients: [[{ match: { name: 'c' }, allow: ['*s__*'], deny: ['fs_*', '*'] }]],
  })
  for (const name of ['b', 'other'])
    t.equal(inOwnNames({ name, tools, names }, merge).names, names, 'no prefix of its own')
  t.end()
})

t.test('a tool that has settings under both names has all of them', t => {
  const tools = new Map([
    ['fs__x', { ...setting, timeoutMs: 5 }], ['x', { ...setting, denied: false, relaxed: true }],
  ])
  for (const of of [tools, new Map([...tools].reverse())]) {
    const own = inOwnNames({ name: 'a', names: undefined, tools: of }, merge)
    t.match(own.tools.get('x'), { timeoutMs: 5, relaxed: true, denied: true })
  }
  t.end()
})

t.test('a name that cannot be read as the server\'s own is refused', t => {
  const refused = (names: NamePatterns, message: string) =>
    t.throws(() => inOwnNames({ name: 'a', names, tools: new Map() }, merge), { message })
  refused({ deny: ['fs__delete_all_0123456789ab'] },
    'servers.a.deny: "fs__delete_all_0123456789ab" is a name that was cut: write the name that the server itself gives the tool')
  refused({ allow: ['fs_*'] },
    'servers.a.allow: "fs_*" fits each of its tools at the merged endpoint: write "*", or name them')
  t.end()
})

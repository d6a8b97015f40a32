import t from 'tap'
import { inOwnNames, readMerge } from '#relay/config/merge.js'
import type { NamePatterns } from '#relay/core/options.js'

const names = ['a', 'b.c']

t.test('the default prefix is the name of the server, in characters that clients take', t => {
  t.strictSame(readMerge(true, names), {
    path: '/mcp', separator: '__', servers: [{ name: 'a', prefix: 'a' }, { name: 'b.c', prefix: 'b_c' }],
  })
  t.match(readMerge({ servers: ['b.c'], prefix: { 'b.c': '' } }, names), { servers: [{ name: 'b.c', prefix: '' }] })
  t.equal(readMerge(false, names), undefined)
  t.end()
})

const wrong = [
  ['merge.servers.0', { servers: ['c'] }, names, 'there is no server "c" (there is: a, b.c)'],
  ['merge.prefix.c', { prefix: { c: 'x' } }, names, 'there is no server "c" (there is: a, b.c)'],
  ['merge.prefix."b.c"', { prefix: { 'b.c': 'a' } }, names, 'the prefix "a" is that of a too: give b.c another under merge.prefix'],
  ['merge', true, ['b.c', 'b_c'], 'the prefix "b_c" is that of b.c too: give b_c another under merge.prefix'],
  ['merge.prefix."b.c"', { prefix: { a: '', 'b.c': '' } }, names, 'one server at most may have no prefix: a has none'],
  ['merge.path', { path: '/a/mcp' }, names, 'is the endpoint of the server a'],
  ['merge.path', { path: '/.well-known/mcp' }, names, 'is a path of this program'],
  ['merge', true, [], 'there is no server to merge'],
] as const

for (const [key, written, of, reason] of wrong) {
  t.test(`${key}: ${reason}`, t => {
    t.throws(() => readMerge(written as Parameters<typeof readMerge>[0], of), { message: `${key}: ${reason}` })
    t.end()
  })
}

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

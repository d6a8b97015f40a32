import t from 'tap'
import { readMerge } from '#relay/config/merge.js'

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

import fc from 'fast-check'
import t from 'tap'
import { readChallenges, wantedBy } from '#relay/transport/http/challenge.js'

const challenges = [
  ['', []],
  ['Bearer', [['bearer', {}]]],
  ['Bearer realm="a, b", scope="x y" , error=invalid_token', [['bearer', { realm: 'a, b', scope: 'x y', error: 'invalid_token' }]]],
  ['Basic YWJj==, Bearer a="1"', [['basic', {}], ['bearer', { a: '1' }]]],
  ['Bearer a="say \\"hi\\"",DPoP algs="ES256"', [['bearer', { a: 'say "hi"' }], ['dpop', { algs: 'ES256' }]]],
  ['Bearer scope="first", scope="second"', [['bearer', { scope: 'first' }]]],
  ['Bearer resource_metadata = "https://x/"', [['bearer', { resource_metadata: 'https://x/' }]]],
] as const

void t.test('challenges are read as RFC 9110 writes them', async t => {
  for (const [text, expected] of challenges) {
    const read = readChallenges(text)
      .map(({ scheme, parameters }) => [scheme, Object.fromEntries(parameters)])
    t.same(read, expected, text)
  }
  fc.assert(fc.property(fc.string({ unit: 'binary', maxLength: 200 }), text => readChallenges(text).length <= 200))
  fc.assert(fc.property(
    fc.dictionary(fc.stringMatching(/^[a-z]{1,8}$/), fc.string({ unit: 'grapheme-ascii' }), { minKeys: 1 }),
    parameters => {
      const quoted = Object.entries(parameters)
        .map(([name, value]) => `${name}="${value.replace(/["\\]/g, '\\$&')}"`)
      const [read] = readChallenges(`Bearer ${quoted.join(', ')}`)
      t.same(Object.fromEntries(read?.parameters ?? []), parameters)
    },
  ), { numRuns: 50 })
  t.same(wantedBy(new Map([['www-authenticate', ['Bearer scope="a b", error="insufficient_scope"', 'DPoP']]])), {
    resourceMetadata: undefined, scopes: ['a', 'b'], error: 'insufficient_scope', schemes: ['bearer', 'dpop'],
  })
})

import t from 'tap'
import { parseHeaders } from '#relay/config/server.js'

t.test('a header on the command line is NAME=VALUE or Name: value', t => {
  const cases = [
    ['A=b', 'a', 'b'], ['A: b', 'a', 'b'], ['A:b', 'a', 'b'], ['A:\t b ', 'a', 'b '],
    ['Authorization: Bearer abc=', 'authorization', 'Bearer abc='],
    ['Authorization=Bearer a:b', 'authorization', 'Bearer a:b'],
    ['X-Url: https://a.example/?b=c', 'x-url', 'https://a.example/?b=c'],
    ['X-Url=https://a.example/', 'x-url', 'https://a.example/'],
    ['Authorization: Bearer ${env:T}', 'authorization', 'Bearer secret'],
    ['Authorization: Bearer {env:T}', 'authorization', 'Bearer secret'],
  ] as const
  for (const [given, name, value] of cases)
    t.strictSame([...parseHeaders([given], { T: 'secret' })], [[name, value]], given)
  for (const wrong of ['secret', ': secret', '=secret', 'A b: secret', 'A b=secret'])
    t.throws(() => parseHeaders([wrong], {}), { message: /^(?!.*secret)/ }, wrong)
  t.end()
})

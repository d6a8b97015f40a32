import t from 'tap'
import { cookiesOf } from '../../../dist/transport/upstream/heads.js'

const cases = [
  ['no path', 'a=1', 'a=1; Path=/files/'],
  ['the whole origin', 'a=1; Path=/; Secure', 'a=1; Secure; Path=/files/'],
  ['the path of another', 'a=1;PATH = /tickets/;HttpOnly', 'a=1;HttpOnly; Path=/files/'],
  ['several paths, of which the last would count', 'a=1; path=/files/; path=/', 'a=1; Path=/files/'],
  ['a path without a value', 'a=1; Path', 'a=1; Path=/files/'],
  ['other attributes stay as they are', 'a="x y"; Domain=example.com; Expires=Wed, 21 Oct 2026 07:28:00 GMT', 'a="x y"; Domain=example.com; Expires=Wed, 21 Oct 2026 07:28:00 GMT; Path=/files/'],
  ['a cookie of that name', 'path=/; Max-Age=1', 'path=/; Max-Age=1; Path=/files/'],
] as const

t.test('a cookie is that of its server\'s path', t => {
  for (const [name, cookie, expected] of cases) {
    const headers = new Map([['set-cookie', [cookie, cookie]], ['x', ['1']]])
    t.same([...cookiesOf('/files/', headers)], [['set-cookie', [expected, expected]], ['x', ['1']]], name)
  }
  t.same([...cookiesOf('/files/', new Map([['x', ['1']]]))], [['x', ['1']]])
  t.end()
})

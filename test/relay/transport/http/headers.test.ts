import t from 'tap'
import { cookiesOf, isUtf8, mediaType } from '#relay/transport/http/headers.js'

t.test('a content type is read as whoever might read it otherwise would', t => {
  const cases = [
    [['application/json'], 'application/json', true],
    [['Application/JSON ;charset=UTF-8'], 'application/json', true],
    [['application/json;'], 'application/json', true],
    [['application/json; charset="utf-8"'], 'application/json', true],
    [['application/json; charset = us-ascii'], 'application/json', true],
    [['application/json; profile="a,b"'], 'application/json', true],
    [['application/json; charset=utf-16'], 'application/json', false],
    [['application/json; charset=utf-8; charset=utf-16'], 'application/json', false],
    [['application/json; charset=utf-16; charset=utf-8'], 'application/json', false],
    [['application/json; charset='], 'application/json', false],
    [['text/html', 'application/json'], '', true],
    [[], '', true],
  ] as const
  for (const [values, type, utf8] of cases) {
    const headers = new Map(values.length === 0 ? [] : [['content-type', values] as const])
    t.equal(mediaType(headers), type, values.join())
    t.equal(isUtf8(headers), utf8, values.join())
  }
  t.end()
})

const cases = [
  ['no path', 'a=1', 'a=1; Path=/files/'],
  ['the whole origin', 'a=1; Path=/; Secure', 'a=1; Secure; Path=/files/'],
  ['the path of another', 'a=1;PATH = /tickets/;HttpOnly', 'a=1;HttpOnly; Path=/files/'],
  ['several paths, of which the last would count', 'a=1; path=/files/; path=/', 'a=1; Path=/files/'],
  ['a path without a value', 'a=1; Path', 'a=1; Path=/files/'],
  [
    'other attributes stay as they are', 'a="x y"; Domain=example.com; Expires=Wed, 21 Oct 2026 07:28:00 GMT',
    'a="x y"; Domain=example.com; Expires=Wed, 21 Oct 2026 07:28:00 GMT; Path=/files/',
  ],
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

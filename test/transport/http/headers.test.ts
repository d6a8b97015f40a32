import t from 'tap'
import { isUtf8, mediaType } from '../../../dist/transport/http/headers.js'

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

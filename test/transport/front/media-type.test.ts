import t from 'tap'
import { checkAccept, checkContentType } from '../../../dist/transport/front/media-type.js'

t.test('a body must say that it is JSON in UTF-8', t => {
  const cases = [
    ['application/json', undefined],
    ['APPLICATION/JSON', undefined],
    ['application/json; charset=utf-8', undefined],
    ['application/json;charset="UTF-8"', undefined],
    ['application/json; profile=x', undefined],
    ['application/json;', undefined],
    ['application/json; charset=utf-16', 415],
    ['application/json; charset=utf-8; charset=utf-16', 415],
    ['application/json, text/plain', 415],
    ['application/json; a=b, text/plain', 415],
    ['text/plain; a=application/json', 415],
    ['text/plain', 415],
    ['application/jsonp', 415],
    ['', 415],
    [undefined, 415],
  ] as const
  for (const [type, status] of cases) {
    t.equal(checkContentType(type === undefined ? {} : { 'content-type': type })?.status, status, type ?? 'none')
  }
  t.end()
})

t.test('a client must be able to read what it will be answered with', t => {
  const cases = [
    ['POST', 'application/json, text/event-stream', undefined],
    ['POST', 'text/event-stream,application/json;q=0.5', undefined],
    ['POST', '*/*', undefined],
    ['POST', 'application/*, text/*', undefined],
    ['POST', 'Application/JSON, */*;q=0.1', undefined],
    ['POST', undefined, undefined],
    ['POST', 'application/json', 406],
    ['POST', 'text/event-stream', 406],
    ['POST', 'text/html', 406],
    ['POST', 'application/json, text/event-stream;q=0', 406],
    ['POST', 'application/json, text/event-stream; q=0.000', 406],
    ['POST', '', 406],
    ['GET', 'text/event-stream', undefined],
    ['GET', '*/*', undefined],
    ['GET', 'application/json', 406],
  ] as const
  for (const [method, accept, status] of cases) {
    t.equal(checkAccept(method, accept === undefined ? {} : { accept })?.status, status, `${method} ${accept}`)
  }
  t.end()
})

import t from 'tap'
import { checkAccept, onlyForm, checkContentType, Gate } from '#relay/transport/front/gate.js'

const gate = (options: Partial<ConstructorParameters<typeof Gate>[0]> = {}) =>
  new Gate({ host: '127.0.0.1', allowHosts: [], allowOrigins: [], tokens: [], ...options })

t.test('the Host must be a name of this relay', t => {
  const cases = [
    ['127.0.0.1', {}, 'localhost:7400', undefined],
    ['127.0.0.1', {}, 'LOCALHOST', undefined],
    ['127.0.0.1', {}, '127.0.0.1:7400', undefined],
    ['127.0.0.1', {}, '[::1]:7400', undefined],
    ['127.0.0.1', {}, 'evil.example:7400', 403],
    ['127.0.0.1', {}, 'localhost.evil.example', 403],
    ['127.0.0.1', {}, 'localhost@evil.example', 403],
    ['127.0.0.1', {}, 'localhost, evil.example', 403],
    ['127.0.0.1', {}, 'localhost:7400:1', 403],
    ['127.0.0.1', {}, '', 403],
    ['127.0.0.1', {}, undefined, 403],
    ['127.0.0.1', {}, '10.0.0.5', 403],
    ['127.0.0.1', { allowHosts: ['MCP.example.com'] }, 'mcp.example.com:443', undefined],
    ['127.0.0.1', { allowHosts: ['mcp.example.com'] }, 'other.example.com', 403],
    ['gateway.internal', {}, 'gateway.internal:80', undefined],
    ['192.168.1.5', {}, '192.168.1.5:80', undefined],
    ['192.168.1.5', {}, '192.168.1.6:80', 403],
    ['fe80::1', {}, '[fe80::1]:80', undefined],
    // Listening on every address: none of them can be rebound, but a name can.
    ['0.0.0.0', {}, '192.168.1.6:80', undefined],
    ['::', {}, '[fe80::1]:80', undefined],
    ['0.0.0.0', {}, 'evil.example', 403],
  ] as const
  for (const [host, options, header, status] of cases) {
    const headers = header === undefined ? {} : { host: header }
    t.equal(gate({ host, ...options }).checkNames({ headers })?.status, status, `${header} at ${host}`)
  }
  t.end()
})

t.test('a page of another site loads nothing, but may send its visitor to a login', t => {
  const navigation = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' }
  const cases = [
    [{}, false, undefined],
    [{ 'sec-fetch-site': 'same-origin' }, false, undefined],
    [{ 'sec-fetch-site': 'none', 'sec-fetch-mode': 'navigate' }, false, undefined],
    [{ 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' }, false, 403],
    [{ 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' }, true, 403],
    [{ 'sec-fetch-site': 'cross-site' }, true, 403],
    [navigation, false, 403],
    [navigation, true, undefined],
    // Of an origin that is allowed: `checkNames` decides.
    [{ ...navigation, 'sec-fetch-mode': 'cors', origin: 'https://app.example.com' }, false, undefined],
  ] as const
  for (const [headers, isPage, status] of cases) {
    t.equal(gate().checkSite({ headers }, isPage)?.status, status, `${JSON.stringify(headers)} ${isPage}`)
  }
  t.end()
})

t.test('only known origins may send requests; the header may be missing', t => {
  const cases = [
    ['127.0.0.1', [], undefined, undefined],
    ['127.0.0.1', [], 'http://localhost:5173', undefined],
    ['127.0.0.1', [], 'https://127.0.0.1', undefined],
    ['127.0.0.1', [], 'http://[::1]:1', undefined],
    ['localhost', [], 'http://localhost:5173', undefined],
    ['127.0.0.1', [], 'http://evil.example', 403],
    ['127.0.0.1', [], 'http://localhost.evil.example', 403],
    ['127.0.0.1', [], 'http://evil.example#localhost', 403],
    ['127.0.0.1', [], 'null', 403],
    ['127.0.0.1', [], 'file://', 403],
    ['127.0.0.1', [], '', 403],
    ['127.0.0.1', ['https://app.example.com'], 'https://APP.example.com', undefined],
    ['127.0.0.1', ['https://app.example.com'], 'http://app.example.com', 403],
    ['127.0.0.1', ['https://app.example.com'], 'https://app.example.com:8443', 403],
    // A page on the client's own machine is no friend of a relay elsewhere.
    ['192.168.1.5', [], 'http://localhost:5173', 403],
  ] as const
  for (const [host, allowOrigins, origin, status] of cases) {
    const headers = { host: 'localhost', ...(origin !== undefined && { origin }) }
    t.equal(gate({ host, allowOrigins }).checkNames({ headers })?.status, status, `${origin} at ${host}`)
  }
  t.end()
})

t.test('where tokens are configured, a request must present one of them', t => {
  const cases = [
    [[], undefined, undefined],
    [['a', 'b'], 'Bearer a', 0],
    [['a', 'b'], 'bearer  b', 1],
    [['a', 'b'], 'Bearer c', 401],
    [['a', 'b'], 'Bearer ', 401],
    [['a', 'b'], 'Basic a', 401],
    [['a', 'b'], 'a', 401],
    [['a', 'b'], 'Bearer a, Bearer b', 401],
    [['a', 'b'], undefined, 401],
  ] as const
  for (const [tokens, authorization, expected] of cases) {
    const asked = gate({ tokens: tokens.map(token => ({ token })) })
    const said = asked.checkToken(authorization === undefined ? {} : { authorization }, '/mcp')
    if (said instanceof Promise) return t.fail('no issuer is asked')
    t.equal('status' in said ? said.status : said.token, expected, authorization ?? 'none')
    if ('status' in said) t.match(said.headers?.['www-authenticate'], /^Bearer/)
  }
  t.end()
})

t.test('the Content-Type must be JSON in UTF-8', t => {
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
    t.equal(
      checkContentType(type === undefined ? {} : { 'content-type': type })?.status, status, type ?? 'none',
    )
  }
  t.end()
})

t.test('the Accept header must allow the types of the response', t => {
  const cases = [
    ['POST', 'application/json, text/event-stream', undefined],
    ['POST', 'text/event-stream,application/json;q=0.5', undefined],
    ['POST', '*/*', undefined],
    ['POST', 'application/*, text/*', undefined],
    ['POST', 'Application/JSON, */*;q=0.1', undefined],
    ['POST', undefined, undefined],
    ['POST', 'application/json', undefined, 'json'],
    ['POST', 'text/event-stream', undefined, 'stream'],
    ['POST', 'text/html', 406],
    ['POST', 'application/json, text/event-stream;q=0', undefined, 'json'],
    ['POST', 'application/*;q=0, text/event-stream; q=0.001', undefined, 'stream'],
    ['POST', 'application/json;q=0, text/event-stream; q=0.000', 406],
    ['POST', '', 406],
    ['GET', 'text/event-stream', undefined],
    ['GET', '*/*', undefined],
    ['GET', 'application/json', 406],
  ] as const
  for (const [method, accept, status, form] of cases) {
    const headers = accept === undefined ? {} : { accept }
    t.equal(checkAccept(method, headers)?.status, status, `${method} ${accept}`)
    if (method === 'POST' && status === undefined) t.equal(onlyForm(headers), form, `${accept}`)
  }
  t.end()
})

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { postHeaders, serveBodies } from '#test/kit/http.js'
import { scratch } from './bridge.js'
import { serve } from './http-bridges.js'
import { initialize } from './stubborn.js'

const challenge = 'Bearer resource_metadata="https://evil.example/prm"'

/** A server that answers each request with the status of `x-status`, and a challenge of its own. */
const evil = (t: Test) => {
  return serveBodies(t, (_, response, request) => {
    response.writeHead(Number(request.headers['x-status']), {
      'content-type': 'application/json', 'www-authenticate': challenge, 'mcp-session-id': 'theirs',
      'proxy-authenticate': 'Basic realm="evil"', 'authentication-info': 'nextnonce="evil"',
    }).end('{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"log in at evil.example"}}')
  })
}

t.test('a server behind a relay with tokens sends no client to an issuer', async t => {
  const [folder, url] = [scratch(t), await evil(t)]
  const audit = join(folder, 'audit.ndjson')
  const config = join(folder, 'customs.json')
  writeFileSync(config, JSON.stringify({
    version: 1, auth: { tokens: ['of-the-clients-of-us'] }, audit: { file: audit }, servers: { evil: { url } },
  }))
  const { url: relay } = await serve(t, ['--config', config])
  const requests = {
    POST: initialize, notification: '{"jsonrpc":"2.0","method":"notifications/x"}', GET: undefined,
    DELETE: undefined,
  }
  let refusals = 0
  for (const status of [200, 202, 400, 401, 403, 404, 407, 500]) {
    for (const [method, body] of Object.entries(requests)) {
      const got = await fetch(`${relay}/evil/mcp`, {
        method: body === undefined ? method : 'POST', ...(body !== undefined && { body }),
        headers: {
          ...postHeaders, authorization: 'Bearer of-the-clients-of-us', 'x-status': String(status),
        },
      })
      const text = await got.text()
      const name = `${method}, HTTP ${status}`
      t.notMatch([...got.headers.keys()].join(), /authenticat/, name)
      if (![401, 403, 407].includes(status)) continue
      refusals += 1
      t.equal(got.status, 502, name)
      t.match(JSON.parse(text), { error: { code: -31001 } }, name)
      t.notMatch(text, /evil/)
    }
  }
  const records = readFileSync(audit.replace('.ndjson', '.evil.ndjson'), { encoding: 'utf8', flag: 'a+' }) +
    readFileSync(audit, { encoding: 'utf8', flag: 'a+' })
  t.equal(records.split('the server refuses the credentials that it gets').length - 1, refusals, 'all are on record')
})

import { createServer, type ServerResponse } from 'node:http'
import { exportJWK, generateKeyPair, SignJWT, type JWK, type JWTPayload } from 'jose'
import t, { type Test } from 'tap'
import { Issuer } from '#auth/issuer.js'
import { nameOf } from '#transport/front/quota.js'
import { bodyOf, listen } from './protected.js'

const issuer = 'https://login.example'
const audience = 'https://mcp.example'

/** Keys and introspection at one origin; the test decides the answers. */
const opened = async (t: Test, introspected: (token: string) => object = () => ({ active: false })) => {
  const { publicKey, privateKey } = await generateKeyPair('ES256')
  const own = await exportJWK(publicKey)
  const [keys, asked, warned]: [JWK[], string[], string[]] = [[{ ...own, kid: 'one' }], [], []]
  let [ahead, open, most] = [0, 0, 0]
  const hanging: ServerResponse[] = []
  const state = { hangs: false }
  const origin = await listen(t, createServer((request, response) => {
    if (request.url === '/keys' && state.hangs) return void hanging.push(response)
    void bodyOf(request).then(body => {
      response.writeHead(200, { 'content-type': 'application/json' })
      if (request.url === '/keys') return response.end(JSON.stringify({ keys }))
      const token = new URLSearchParams(body).get('token') ?? ''
      asked.push(token)
      most = Math.max(most, open += 1)
      return setImmediate(() => {
        open -= 1
        response.end(JSON.stringify(introspected(token)))
      })
    })
  }))
  const checker = new Issuer({
    issuer, audience, scopes: [], jwks: `${origin}/keys`,
    introspection: { url: `${origin}/introspect`, clientId: 'relay', clientSecret: 'secret' },
  }, { warn: text => warned.push(text), now: () => Date.now() + ahead })
  return {
    checker, keys, own, asked, warned, state, most: () => most, later: (ms: number) => (ahead += ms),
    sign: (claims: JWTPayload, kid: string | undefined = 'one', typ?: string) =>
      new SignJWT({ iss: issuer, aud: audience, client_id: 'app', exp: Math.floor(Date.now() / 1000) + 9000, ...claims })
        .setProtectedHeader({ alg: 'ES256', ...(kid !== '' && { kid }), ...(typ !== undefined && { typ }) }).sign(privateKey),
  }
}

void t.test('a token that names nobody, or that is bound to a key, is not valid', async t => {
  const { checker, sign } = await opened(t, token => (token === 'neither' ? { active: true } : { active: true, client_id: 'app', sub: token === 'number' ? 1 : undefined }))
  for (const sub of [1, '', null, ['alice'], undefined] as unknown[]) {
    t.equal(await checker.check(await sign({ sub: sub as string })), 'invalid', JSON.stringify(sub))
  }
  t.match(await checker.check(await sign({ sub: 'alice' })), { subject: { subject: 'alice' } })
  t.equal(await checker.check(await sign({ sub: 'alice', cnf: { jkt: 'x' } })), 'invalid')
  t.equal(await checker.check('number'), 'invalid')
  t.equal(await checker.check('neither'), 'invalid')
  t.match(await checker.check('of-a-client'), { subject: { subject: undefined, client: 'app' } })
  t.not(nameOf({ issuer, subject: 'app', scopes: [] }), nameOf({ issuer, client: 'app', scopes: [] }))
})

void t.test('only access tokens let a client in', async t => {
  const { checker, sign } = await opened(t)
  for (const [typ, claims, isAccess] of [
    [undefined, {}, true], ['JWT', {}, true], ['jwt', {}, true], ['at+jwt', {}, true],
    ['application/at+jwt', {}, true], ['JWT', { typ: 'Bearer' }, true], ['JWT', { nonce: 'n' }, true],
    ['JWT', { at_hash: 'h' }, false], [undefined, { c_hash: 'h' }, false], ['JWT', { typ: 'ID' }, false],
    ['id_token+jwt', {}, false], ['logout+jwt', {}, false], ['dpop+jwt', {}, false], ['secevent+jwt', {}, false],
  ] as const) {
    const found = await checker.check(await sign({ sub: 'alice', ...claims }, 'one', typ))
    t.equal(found !== 'invalid', isAccess, `${typ ?? 'no type'} ${JSON.stringify(claims)}`)
  }
})

void t.test('a token that names no key is tried with each; an opaque one with two dots is asked about', async t => {
  const { checker, keys, own, sign, asked } = await opened(t, () => ({ active: true, sub: 'bob' }))
  const other = await exportJWK((await generateKeyPair('ES256')).publicKey)
  keys.splice(0, 1, other, own)
  t.match(await checker.check(await sign({ sub: 'alice' }, '')), { subject: { subject: 'alice' } })
  keys.splice(0, 2, other, await exportJWK((await generateKeyPair('ES256')).publicKey))
  t.match(await checker.check('an.opaque.token'), { subject: { subject: 'bob' } })
  t.same(asked, ['an.opaque.token'])
})

void t.test('made-up tokens do not flood the issuer', async t => {
  const { checker, asked, most, warned, later } = await opened(t)
  await Promise.all(Array.from({ length: 50 }, async () => checker.check('same')))
  t.equal(asked.length, 1)
  t.equal(await checker.check('same'), 'invalid')
  t.equal(asked.length, 1, 'not asked again a moment later')
  later(6000)
  await checker.check('same')
  t.equal(asked.length, 2)
  const answers = await Promise.all(Array.from({ length: 300 }, async (_, n) => checker.check(`made-up-${n}`)))
  t.ok(most() <= 32, `${most()} at once`)
  t.ok(answers.includes('unavailable'))
  t.equal(warned.length, 1, 'one warning')
})

void t.test('an issuer that hangs delays no check while its old keys count', async t => {
  const { checker, sign, state, later } = await opened(t)
  t.match(await checker.check(await sign({ sub: 'alice' })), { subject: { subject: 'alice' } })
  state.hangs = true
  later(11 * 60_000)
  t.match(await checker.check(await sign({ sub: 'bob' })), { subject: { subject: 'bob' } })
})

import { createServer, type ServerResponse } from 'node:http'
import { exportJWK, generateKeyPair, SignJWT, type JWK, type JWTPayload } from 'jose'
import t, { type Test } from 'tap'
import { Issuer } from '#relay/auth/issuer.js'
import { subjectName } from '#relay/transport/front/credentials.js'
import { bodyOf, listen } from '#test/kit/http.js'

const issuer = 'https://login.example'
const audience = 'https://mcp.example'

type Introspected = (token: string) => object | Promise<object>

/** Keys and introspection at one origin; the test decides the answers. */
const opened = async (t: Test, introspected: Introspected = () => ({ active: false })) => {
  const { publicKey, privateKey } = await generateKeyPair('ES256')
  const own = await exportJWK(publicKey)
  const [keys, asked, warned, told]: [JWK[], string[], string[], string[]] = [[{ ...own, kid: 'one' }], [], [], []]
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
      return void Promise.resolve(introspected(token)).then(answer => setImmediate(() => {
        open -= 1
        response.end(JSON.stringify(answer))
      }))
    })
  }))
  const checker = new Issuer({
    issuer, audience, scopes: [], jwks: `${origin}/keys`,
    introspection: { url: `${origin}/introspect`, clientId: 'relay', clientSecret: 'secret' },
  }, { warn: text => warned.push(text), told: text => told.push(text), now: () => Date.now() + ahead })
  return {
    check: async (token: string, network = 'a') => checker.check(token, '/mcp', network),
    keys, own, asked, warned, told, state, most: () => most, later: (ms: number) => (ahead += ms),
    sign: (claims: JWTPayload, kid: string | undefined = 'one', typ?: string) =>
      new SignJWT({ iss: issuer, aud: audience, client_id: 'app', exp: Math.floor(Date.now() / 1000) + 9000, ...claims })
        .setProtectedHeader({ alg: 'ES256', ...(kid !== '' && { kid }), ...(typ !== undefined && { typ }) }).sign(privateKey),
  }
}

void t.test('a token that names nobody, or that is bound to a key, is not valid', async t => {
  const { check, sign } = await opened(t, token => (token === 'neither' ? { active: true } : { active: true, client_id: 'app', sub: token === 'number' ? 1 : undefined }))
  for (const sub of [1, '', null, ['alice'], undefined] as unknown[]) {
    t.equal(await check(await sign({ sub: sub as string })), 'invalid', JSON.stringify(sub))
  }
  t.match(await check(await sign({ sub: 'alice' })), { subject: { subject: 'alice' } })
  for (const cnf of [{ jkt: 'x' }, { 'x5t#S256': 'x' }, { jwk: { kty: 'EC' } }, {}, null, 'x']) {
    t.equal(await check(await sign({ sub: 'alice', cnf })), 'invalid', JSON.stringify(cnf))
  }
  t.equal(await check('number'), 'invalid')
  t.equal(await check('neither'), 'invalid')
  t.match(await check('of-a-client'), { subject: { subject: undefined, client: 'app' } })
  t.not(subjectName({ issuer, subject: 'app', scopes: [] }), subjectName({ issuer, client: 'app', scopes: [] }))
})

void t.test('only access tokens let a client in', async t => {
  const { check, sign } = await opened(t)
  for (const [typ, claims, isAccess] of [
    [undefined, {}, true], ['JWT', {}, true], ['jwt', {}, true], ['at+jwt', {}, true],
    ['application/at+jwt', {}, true], ['JWT', { typ: 'Bearer' }, true], ['JWT', { nonce: 'n' }, true],
    ['JWT', { at_hash: 'h' }, false], [undefined, { c_hash: 'h' }, false], ['JWT', { typ: 'ID' }, false],
    ['id_token+jwt', {}, false], ['logout+jwt', {}, false], ['dpop+jwt', {}, false], ['secevent+jwt', {}, false],
  ] as const) {
    const found = await check(await sign({ sub: 'alice', ...claims }, 'one', typ))
    t.equal(found !== 'invalid', isAccess, `${typ ?? 'no type'} ${JSON.stringify(claims)}`)
  }
})

void t.test('a token that names no key is tried with each; an opaque one with two dots is asked about', async t => {
  const { check, keys, own, sign, asked } = await opened(t, () => ({ active: true, sub: 'bob' }))
  const other = await exportJWK((await generateKeyPair('ES256')).publicKey)
  keys.splice(0, 1, other, own)
  t.match(await check(await sign({ sub: 'alice' }, '')), { subject: { subject: 'alice' } })
  keys.splice(0, 2, other, await exportJWK((await generateKeyPair('ES256')).publicKey))
  t.match(await check('an.opaque.token'), { subject: { subject: 'bob' } })
  t.same(asked, ['an.opaque.token'])
})

void t.test('made-up tokens do not flood the issuer', async t => {
  const { check, asked, most, warned, later } = await opened(t)
  await Promise.all(Array.from({ length: 50 }, async () => check('same')))
  t.equal(asked.length, 1)
  t.equal(await check('same'), 'invalid')
  t.equal(asked.length, 1, 'not asked again a moment later')
  later(6000)
  await check('same')
  t.equal(asked.length, 2)
  await Promise.all(Array.from({ length: 100 }, async (_, n) => check(`made-up-${n}`)))
  t.ok(most() <= 32, `${most()} at once`)
  t.ok(asked.length > 2 + 32, 'others wait for a moment')
  t.ok(warned.length <= 1)
})

void t.test('strangers of one network do not take the places of the clients of others', async t => {
  let release = () => {}
  const held = new Promise<object>(resolve => (release = () => resolve({ active: false })))
  const { check, asked } =
    await opened(t, token => (token.startsWith('known') ? { active: true, sub: 'alice' } : held))
  const flood = Array.from({ length: 100 }, async (_, n) => check(`made-up-${n}`, 'strangers'))
  for (let n = 0; n < 5; n++) t.match(await check(`known-${n}`, 'office'), { subject: { subject: 'alice' } })
  t.ok(asked.filter(token => token.startsWith('made-up')).length < 32)
  release()
  t.notOk((await Promise.all(flood)).some(found => typeof found === 'object'))
})

void t.test('the operator hears why a token was refused, and never the token', async t => {
  const { check, sign, told } = await opened(t)
  const tokens = [
    [await sign({ sub: 'alice', iss: 'https://other.example' }), /"iss" claim.*https:\/\/login\.example.*https:\/\/other\.example/],
    [await sign({ sub: 'alice', exp: 1 }), /"exp" claim/], [await sign({ sub: 'alice' }, 'two'), /no applicable key/],
    [await sign({ sub: 'alice', cnf: { jkt: 'x' } }), /bound to a key/], ['an-opaque-token', /not active/],
  ] as const
  for (const [token, reason] of tokens) {
    t.equal(await check(token), 'invalid')
    t.match(told.at(-1), reason)
    t.notOk(told.join('').includes(token.slice(-20)))
  }
})

void t.test('an issuer that hangs delays no check while its old keys count', async t => {
  const { check, sign, state, later } = await opened(t)
  t.match(await check(await sign({ sub: 'alice' })), { subject: { subject: 'alice' } })
  state.hangs = true
  later(11 * 60_000)
  t.match(await check(await sign({ sub: 'bob' })), { subject: { subject: 'bob' } })
})

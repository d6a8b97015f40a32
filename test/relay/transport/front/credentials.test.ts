import t from 'tap'
import { contextDigest, identifiesClient } from '#relay/transport/front/credentials.js'

const digest = (credentials: 'none' | 'token' | 'headers', headers: Readonly<Record<string, string>>) =>
  contextDigest(credentials, headers, undefined)

t.test('the headers that count as credentials depend on the kind of server', t => {
  const cases = [
    // Headers beside those of `one`; whether they make another client of it for nobody, for our tokens, for
    // an HTTP server.
    [{ authorization: 'Bearer other' }, false, true, true],
    [{ cookie: 'AWSALB=two' }, false, false, true],
    [{ 'x-api-key': 'other' }, false, false, true],
    [{ host: 'b', 'user-agent': 'y', traceparent: '2' }, false, false, false],
  ] as const
  const one = { authorization: 'Bearer secret', cookie: 'AWSALB=one', host: 'a' }
  for (const [other, ...expected] of cases) {
    const differs = (['none', 'token', 'headers'] as const).map(credentials =>
      digest(credentials, one) !== digest(credentials, { ...one, ...other }))
    t.same(differs, expected, JSON.stringify(other))
  }
  t.equal(
    digest('headers', { 'x-a': '1', 'x-b': '2' }), digest('headers', { 'x-b': '2', 'x-a': '1' }),
    'their order says nothing',
  )
  t.notMatch(digest('headers', one) + digest('token', one), /secret/)
  t.end()
})

t.test('the claims of a token that was not verified name nobody', t => {
  const jwt = (claims: object) =>
    `Bearer ${[{ alg: 'none' }, claims].map(part => Buffer.from(JSON.stringify(part)).toString('base64url'))
      .join('.')}.forged`
  const alice = { iss: 'https://issuer', sub: 'alice', aud: 'here', scope: 'read' }
  const tokens = [{ ...alice, jti: 'a' }, { ...alice, jti: 'b' }].map(jwt)
  for (const source of ['token', 'headers'] as const) {
    const digests = tokens.map(authorization => digest(source, { authorization }))
    t.equal(new Set(digests).size, 2, source)
    const subject = { issuer: 'https://issuer', subject: 'alice', scopes: [] }
    const verified = tokens.map(authorization => contextDigest(source, { authorization }, subject))
    t.equal(new Set(verified).size, 1, 'a verified subject stays who it is with a new token')
    t.notOk(digests.includes(verified[0] ?? ''))
  }
  t.end()
})

t.test('every header that is not on the harmless list is a credential', t => {
  const who = [
    'authorization', 'proxy-authorization', 'cookie', 'api-key', 'x-api-key', 'x-auth-token', 'x-tenant',
    'x-tenant-id',
    'x-acme', 'x-acme-request-id', 'x-forwarded-user', 'x-forwarded-email', 'x-forwarded-client-cert',
    'x-forwarded-access-token', 'cf-access-jwt-assertion', 'cf-access-client-id', 'x-amzn-oidc-data',
    'x-amzn-mtls-clientcert-subject', 'x-request-user', 'x-ms-client-principal', 'x-appengine-user-email',
    'x-goog-authenticated-user-email', 'x-correlation-account', 'fly-client-id', 'x-session',
    'x-vercel-oidc-token',
  ]
  const nobody = [
    'accept', 'user-agent', 'x-azure-ref', 'x-amz-cf-id', 'x-amzn-trace-id', 'x-request-start',
    'x-request-id',
    'idempotency-key', 'cf-ray', 'cf-connecting-ip', 'cf-ipcountry', 'cf-visitor', 'cf-worker', 'cdn-loop',
    'true-client-ip', 'x-real-ip', 'x-client-ip', 'x-azure-clientip', 'x-forwarded-for', 'x-forwarded-proto',
    'fastly-ff', 'x-varnish', 'x-cloud-trace-context', 'x-b3-traceid', 'traceparent', 'uber-trace-id',
    'x-datadog-sampling-priority', 'x-queue-start', 'sec-fetch-mode', 'mcp-param-region', 'mcp-param-user',
    'x-vercel-id', 'fly-region', 'x-retry-count', 'x-envoy-attempt-count', 'request-id', 'x-transaction-id',
    'max-forwards',
  ]
  t.same(who.filter(name => !identifiesClient(name)), [])
  t.same(nobody.filter(identifiesClient), [])
  t.end()
})

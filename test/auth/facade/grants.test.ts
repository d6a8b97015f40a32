import t from 'tap'
import { Grants } from '#auth/facade/grants.js'
import type { Known } from '#auth/facade/login.js'

const terms = { client: 'c', redirectUri: 'u', challenge: 'x' }
const known = {} as Known
const dayMs = 24 * 3600_000

const about = (subject: string) => ({
  client: 'c', resource: 'r', known, subject: { issuer: 'i', subject, scopes: [] },
  upstream: {
    access: 'a'.repeat(800), type: 'bearer' as const, refresh: 'b'.repeat(40), expiresAt: undefined,
    lifetimeMs: undefined, scopes: undefined,
  },
})

void t.test('a login weighs what is kept of it', t => {
  const grants = new Grants(() => 0)
  for (let n = 0; n < 3000; n++) {
    const grant = grants.redeem(grants.begin(about(`s${n}`), terms, 'i'), terms)
    if (grant !== undefined) grants.issue(grant)
  }
  t.equal(grants.size, 3000)
  t.end()
})

void t.test('a login ends after 30 days without use, and with a code that nobody redeems', t => {
  let now = 0
  const grants = new Grants(() => now)
  const grant = grants.redeem(grants.begin(about('alice'), terms, 'i'), terms)
  if (grant === undefined) throw new Error('the code is valid')
  const { access, refresh = '' } = grants.issue(grant)
  now += 29 * dayMs
  t.equal(grants.find(refresh), grant)
  now += 2 * dayMs
  t.equal(grants.ofAccess(access), undefined)
  t.equal(grants.ofRefresh(refresh, 'c'), undefined)
  t.equal(grants.size, 0)
  grants.begin(about('bob'), terms, 'i')
  now += 2 * 60_000
  grants.begin(about('carol'), terms, 'i')
  t.equal(grants.size, 1)
  t.end()
})

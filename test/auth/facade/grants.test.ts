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

void t.test('a refresh token is valid again only while nobody has used what it was exchanged for', t => {
  const grants = new Grants(() => 0)
  const begun = () => {
    const grant = grants.redeem(grants.begin(about('alice'), terms, 'i'), terms)
    if (grant === undefined) throw new Error('the code is valid')
    const refreshed = (token: string | undefined) => {
      const of = grants.ofRefresh(token ?? '', 'c')
      return of && grants.issue(of)
    }
    return { first: grants.issue(grant), refreshed }
  }
  const lost = begun()
  t.ok(lost.refreshed(lost.first.refresh))
  t.ok(lost.refreshed(lost.first.refresh), 'the response was lost')
  const third = lost.refreshed(lost.first.refresh)
  t.ok(grants.ofAccess(third?.access ?? ''))
  t.equal(lost.refreshed(lost.first.refresh), undefined, 'the client has the tokens')
  t.equal(grants.ofAccess(third?.access ?? ''), undefined, 'the login has ended')
  const stolen = begun()
  const second = stolen.refreshed(stolen.first.refresh)
  const thiefs = stolen.refreshed(stolen.first.refresh)
  t.ok(grants.ofAccess(thiefs?.access ?? ''))
  t.equal(stolen.refreshed(second?.refresh), undefined)
  t.equal(grants.ofAccess(thiefs?.access ?? ''), undefined, 'the login of a thief has ended as well')
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

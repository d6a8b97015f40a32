import t from 'tap'
import { LoginFolder } from '#relay/auth/client/store.js'
import { deviceLogin } from '#relay/auth/client/without-browser.js'
import { guardedFetch } from '#relay/transport/upstream/document.js'
import { scratch } from '#test/e2e/bridge.js'
import { severalIssuers } from '../several.js'

void t.test('a lost answer does not end a login by code, and a browser does not use its redirect URI', async t => {
  let asked = 0
  const one = await severalIssuers(t, { token: (_, json) => {
    asked += 1
    if (asked === 1) json(400, { error: 'authorization_pending' })
    else if (asked === 2) json(503, {})
    else json(200, { access_token: 'access', token_type: 'Bearer' })
  } })
  const stored = await deviceLogin({
    url: one.url, settings: { grant: 'user', loginMs: 1000 }, now: Date.now,
    file: new LoginFolder(scratch(t)).file(one.url.href, { grant: 'user', loginMs: 1000 }), fetch: guardedFetch({ mayBePrivate: true }),
  }, {
    wanted: { schemes: [], resourceMetadata: undefined, scopes: undefined, error: undefined },
    refused: undefined, scopes: [],
  }, () => undefined)
  t.equal(stored?.tokens?.access, 'access')
  t.equal(stored?.client.redirectUri, undefined)
  t.equal(asked, 3)
})

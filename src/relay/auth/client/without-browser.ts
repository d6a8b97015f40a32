import { setTimeout as pause } from 'node:timers/promises'
import { HttpFailure } from '#relay/transport/upstream/pool.js'
import { discover } from './discovery.js'
import { givenClient, register } from './registration.js'
import { urlHostOf, IssuerClient, RefusedGrant } from './requests.js'
import { issuerFor, scopesFor, withoutSecrets, type Purpose } from './settings.js'
import type { Stored } from './store.js'
import type { UserLoginOptions } from './user-login.js'

type Options = Pick<UserLoginOptions, 'url' | 'settings' | 'file' | 'fetch' | 'now'>

/** A login of the client itself: nobody is asked (RFC 6749, section 4.4). */
export const clientLogin = async (
  { url, settings, file, fetch, now }: Options, purpose: Purpose,
): Promise<Stored | undefined> => {
  const { resourceMetadata } = purpose.wanted
  const before = file.read()
  const found = await discover(url, { resourceMetadata, issuer: issuerFor(settings, before) }, fetch)
  if (found === undefined) return undefined
  const { server, resource } = found
  const client = givenClient(settings.client, server)
  if (client === undefined) throw new HttpFailure('auth.clientId is missing')
  const requested = scopesFor(found, purpose, settings, before?.requested)
  const tokens = await new IssuerClient({ server, client, fetch, now }).credentials(resource, requested)
  return { url: url.href, resource, server, client: withoutSecrets(client, settings), requested, tokens }
}

/** Waits until the user has entered a code on another device (RFC 8628). */
export const deviceLogin = async (
  { url, settings, file, fetch, now }: Options, purpose: Purpose, show: (url: string, code: string) => void,
): Promise<Stored | undefined> => {
  const { resourceMetadata } = purpose.wanted
  const found = await discover(url, { resourceMetadata, issuer: issuerFor(settings, file.read()) }, fetch)
  if (found === undefined) return undefined
  const { server, resource } = found
  if (server.device_authorization_endpoint === undefined) {
    throw new HttpFailure(`${urlHostOf(server.issuer)} has no device flow: use login --no-browser`)
  }
  const requested = scopesFor(found, purpose, settings)
  const client = givenClient(settings.client, server)
    ?? await register(server, { redirectUri: 'http://127.0.0.1/callback', grants: [deviceGrant] }, fetch)
  const issuer = new IssuerClient({ server, client, fetch, now })
  const device = await issuer.device(resource, requested)
  show(device.verification_uri_complete ?? device.verification_uri, device.user_code)
  // No browser comes back to the redirect URI: a login in a browser must not use it.
  const kept = { ...withoutSecrets(client, settings), redirectUri: undefined }
  const until = now() + device.expires_in * 1000
  for (let seconds = device.interval ?? 5; now() < until;) {
    await pause(seconds * 1000)
    const tokens = await issuer.deviceTokens(device.device_code, resource).catch((error: unknown) => {
      // After a lost response the client asks again, less often (RFC 8628, section 3.5).
      if (!(error instanceof RefusedGrant)) seconds += 1
      else if (error.error === 'slow_down') seconds += 5
      else if (error.error !== 'authorization_pending') throw error
      return undefined
    })
    if (tokens === undefined) continue
    return file.change(() => ({ url: url.href, resource, server, client: kept, requested, tokens }))
  }
  throw new HttpFailure(`nobody has entered the code within ${device.expires_in} s`)
}

const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code'

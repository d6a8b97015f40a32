import { createServer } from 'node:http'
import { exportJWK, generateKeyPair, SignJWT, type CryptoKey, type JWK, type JWTPayload } from 'jose'
import { Provider } from 'oidc-provider'
import type { Test } from '../../e2e/bridge.js'
import { listen } from '#test/kit/http.js'

/** An issuer whose every document and signature the test decides. */
export class ForgingIssuer {
  url = ''
  /** The JWKS that it serves. */
  readonly keys: JWK[] = []
  /** Paths that were fetched, in order. */
  readonly fetched: string[] = []
  /** By path, in place of its own documents. */
  readonly documents = new Map<string, object>()
  readonly #private = new Map<string, CryptoKey>()

  static async open(t: Test): Promise<ForgingIssuer> {
    const issuer = new ForgingIssuer()
    await issuer.addKey('first')
    issuer.url = await listen(t, createServer((request, response) => {
      const path = request.url ?? ''
      issuer.fetched.push(path)
      const own = new Map<string, object>([
        ['/.well-known/oauth-authorization-server', { issuer: issuer.url, jwks_uri: `${issuer.url}/keys` }],
        ['/keys', { keys: issuer.keys }],
      ])
      const found = issuer.documents.get(path) ?? own.get(path)
      response.writeHead(found === undefined ? 404 : 200, { 'content-type': 'application/json' })
      response.end(JSON.stringify(found ?? {}))
    }))
    return issuer
  }

  async addKey(kid: string): Promise<void> {
    const { publicKey, privateKey } = await generateKeyPair('RS256')
    this.keys.push({ ...(await exportJWK(publicKey)), kid, alg: 'RS256', use: 'sig' })
    this.#private.set(kid, privateKey)
  }

  token(claims: JWTPayload, kid = 'first'): Promise<string> {
    const key = this.#private.get(kid)
    if (key === undefined) throw new Error(`no key ${kid}`)
    return new SignJWT({ iss: this.url, sub: 'alice', ...claims })
      .setProtectedHeader({ alg: 'RS256', kid }).setExpirationTime(claims.exp ?? '5m').sign(key)
  }
}

/** A real issuer, oidc-provider, whose access tokens are JWTs for the resource that is asked for. */
export const realIssuer = async (t: Test, scopes: string): Promise<string> => {
  // The provider needs the URL, which the server knows once it listens.
  const server = createServer()
  const url = await listen(t, server)
  const provider = new Provider(url, {
    clients: [{
      client_id: 'robot', client_secret: 'robot-secret', grant_types: ['client_credentials'],
      redirect_uris: [], response_types: [],
    }],
    features: {
      clientCredentials: { enabled: true },
      devInteractions: { enabled: false },
      introspection: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_, audience) => ({ audience, scope: scopes, accessTokenFormat: 'jwt' }),
      },
    },
  })
  const handle = provider.callback()
  server.on('request', (request, response) => void handle(request, response))
  return url
}

/** @returns an access token of the client credentials grant */
export const tokenOf = async (issuer: string, resource: string, scope?: string): Promise<string> => {
  const response = await fetch(`${issuer}/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from('robot:robot-secret').toString('base64')}` },
    body: new URLSearchParams({
      grant_type: 'client_credentials', resource, ...(scope !== undefined && { scope }),
    }),
  })
  const { access_token: token } = await response.json() as { access_token?: string }
  if (token === undefined) throw new Error(`the issuer answers with HTTP ${response.status}`)
  return token
}

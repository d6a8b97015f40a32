// An OAuth client whose user grants everything at once: the authorization page is fetched, and its redirect is the answer.

/**
 * The client is given the relay's URL. Then the relay is the issuer's client: its facade knows nothing of what the scenario has
 * registered, and cannot fetch the document of a host that does not exist.
 */
const isBeforeFacade = process.env.REROUTE_MODE === 'url'

export class HeadlessProvider {
  clientMetadataUrl = isBeforeFacade ? undefined : 'https://conformance-test.local/client-metadata.json'
  redirectUrl = 'http://localhost:3000/callback'
  clientMetadata = {
    client_name: 'conformance-client',
    redirect_uris: [this.redirectUrl],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
  }

  #clients = new Map()
  #tokens
  #verifier
  #callback
  #discovery

  /** @param registered `client_id` and `client_secret`, when the client is known beforehand */
  constructor({ client_id, client_secret }) {
    this.registered = isBeforeFacade || !client_id ? undefined : { client_id, ...(client_secret && { client_secret }) }
  }

  clientInformation(context) {
    return this.#clients.get(context?.issuer) ?? this.registered
  }

  saveClientInformation(information, context) {
    this.#clients.set(context?.issuer, information)
  }

  tokens() {
    return this.#tokens
  }

  saveTokens(tokens) {
    this.#tokens = tokens
    // The next authorization may be another server's business: it is looked up again.
    this.#discovery = undefined
  }

  saveCodeVerifier(verifier) {
    this.#verifier = verifier
  }

  codeVerifier() {
    return this.#verifier
  }

  discoveryState() {
    return this.#discovery
  }

  saveDiscoveryState(state) {
    this.#discovery = state
  }

  invalidateCredentials(scope) {
    if (scope === 'all' || scope === 'tokens') this.#tokens = undefined
    if (scope === 'all' || scope === 'client') this.#clients.clear()
    if (scope === 'all' || scope === 'verifier') this.#verifier = undefined
    if (scope === 'all' || scope === 'discovery') this.#discovery = undefined
  }

  /** Follows redirects, and consents where a page asks for it, until it is sent back to us. */
  async redirectToAuthorization(url) {
    let form
    for (let step = 0; step < 10; step++) {
      const response = await fetch(url, { redirect: 'manual', ...(form && { method: 'POST', body: form, headers: { origin: url.origin } }) })
      const [text, location] = [await response.text(), response.headers.get('location')]
      const request = /name="request" value="([^"]*)"/.exec(text)?.[1]
      if (location === null && request === undefined) throw new Error(`the authorization server answers ${response.status} without a redirect`)
      form = location === null ? new URLSearchParams({ request, answer: 'allow' }) : undefined
      url = new URL(location ?? /action="([^"]*)"/.exec(text)[1], url)
      if (url.href.startsWith(this.redirectUrl)) return void (this.#callback = url.searchParams)
    }
    throw new Error('the browser is sent round and round')
  }

  /** The parameters of the last redirect back to us. */
  callback() {
    return this.#callback
  }
}

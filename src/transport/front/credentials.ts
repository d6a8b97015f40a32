import { hash } from 'node:crypto'
import { isObject, isString, member, parseJson, type Json } from '../../protocol/json.js'

/**
 * The headers by which clients are told apart. Clients without a session that are not told apart share lists.
 * `nobody`: none, for a process sees no header;
 * `token`: our own token, for a process sees no other;
 * `server`: every header that is not on the harmless list, for an HTTP server sees them, and may list by them.
 */
export type Credentials = 'nobody' | 'token' | 'server'

/** Equal for requests that may be one client's. Says nothing about the credentials themselves. */
export const contextDigest = (credentials: Credentials, headers: ReadonlyMap<string, string>): string => {
  if (credentials === 'nobody') return ''
  const key = credentials === 'token'
    ? [headers.get('authorization')]
    : [...headers].filter(([name]) => tellsWho(name)).sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, value]) => [name, bearerIn(value) ?? value])
  return hash('sha256', JSON.stringify(key), 'base64url')
}

/** By these a server may list something else for the same subject (RFC 9068, section 2.2). */
const claimNames = ['iss', 'sub', 'aud', 'azp', 'client_id', 'scope', 'scp']

/**
 * Whose token it is, where it is a JWT: it is renewed every few minutes, and its claims stay. Nobody verifies
 * it here. A server refuses a forged one, and nothing that clients share is an answer of the server to
 * another client.
 */
const bearerIn = (value: string): readonly Json[] | undefined => {
  const payload = /^bearer +[\w-]+\.([\w-]+)\.[\w-]*$/i.exec(value)?.[1]
  const claims = payload === undefined ? undefined : parseJson(Buffer.from(payload, 'base64url').toString())
  if (!isObject(claims) || !['iss', 'sub'].every(name => isString(member(claims, name)))) return undefined
  return claimNames.map(name => member(claims, name) ?? null)
}

/** Every header that is not on the list may tell one client from another. */
export const tellsWho = (name: string): boolean => !harmless.has(name) && !harmlessPrefixes.test(name)

/**
 * Headers of the message, of its way and of its trace, which differ between requests of one client. A header that is
 * missing here costs lists of its own; one that is here by mistake would share a list between clients.
 */
const harmless: ReadonlySet<string> = new Set(`
  accept accept-charset accept-encoding accept-language cache-control connection content-encoding content-language
  content-length content-type date dnt expect forwarded host if-match if-modified-since if-none-match if-range
  if-unmodified-since keep-alive last-event-id max-forwards origin pragma priority proxy-connection range referer
  save-data te trailer transfer-encoding upgrade upgrade-insecure-requests user-agent via x-requested-with

  mcp-method mcp-name mcp-protocol-version idempotency-key x-idempotency-key

  b3 baggage correlation-id elastic-apm-traceparent newrelic request-id sentry-trace traceparent tracestate
  uber-trace-id x-amzn-trace-id x-cloud-trace-context x-correlation-id x-newrelic-id x-newrelic-transaction
  x-request-id x-request-start x-retry-count x-span-id x-trace-id x-transaction-id

  akamai-origin-hop cdn-loop cf-connecting-ip cf-connecting-ipv6 cf-ew-via cf-ipcity cf-ipcontinent cf-ipcountry
  cf-iplatitude cf-iplongitude cf-postal-code cf-pseudo-ipv4 cf-ray cf-region cf-timezone cf-visitor cf-worker
  fastly-client-ip fastly-ff fastly-ssl fastly-temp-xff fly-client-ip fly-forwarded-port fly-forwarded-proto
  fly-forwarded-ssl fly-region fly-request-id fly-trace true-client-ip x-akamai-config-log-detail x-amz-cf-id
  x-appengine-city x-appengine-country x-appengine-request-log-id x-arr-log-id x-arr-ssl x-azure-clientip
  x-azure-fdid x-azure-ref x-azure-requestchain x-azure-socketip x-client-ip x-cluster-client-ip x-edge-location
  x-fd-healthprobe x-forwarded-for x-forwarded-host x-forwarded-port x-forwarded-prefix x-forwarded-proto
  x-forwarded-scheme x-forwarded-server x-original-forwarded-for x-original-host x-original-uri x-original-url
  x-queue-start x-real-ip x-scheme x-varnish x-vercel-deployment-url x-vercel-forwarded-for x-vercel-id
`.trim().split(/\s+/))

/** Of browsers, copies of arguments (SEP-2243), tracers and meshes. */
const harmlessPrefixes = /^(?:sec-|mcp-param-|ot-|x-b3-|x-datadog-|x-envoy-|x-vercel-ip-|cloudfront-(?:viewer|is)-)/

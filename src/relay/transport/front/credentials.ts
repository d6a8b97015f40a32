import { hash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { Identity } from '#relay/core/vocabulary.js'
import { headerText } from './request.js'

/** Equal for tokens of one subject. A client without one is not the subject of the same name. */
export const subjectName = ({ issuer, subject, client }: Identity): string =>
  JSON.stringify([issuer, subject ?? ['client', client]])

/**
 * The headers that make up an authorization context. Requests without a session that have the same context
 * share a session, and with it the server's lists.
 * `none`: no header, because a stdio server sees none;
 * `token`: the token or subject, where this relay checks tokens in front of a stdio server;
 * `headers`: every header that is not on the harmless list, because an HTTP server may list by any of them.
 */
export type ContextSource = 'none' | 'token' | 'headers'

/**
 * A hash that is equal for equal credentials, and tells nothing about them. A token that this relay has not
 * verified names nobody, whatever its claims: it is hashed as it is.
 * @param subject the client of an issuer's token that this relay has verified. It is hashed in place of the
 * token, which is renewed every few minutes
 * @param isUpstreams the relay sends the server another token of this subject, with the same scopes
 */
export const contextDigest = (
  source: ContextSource, headers: IncomingHttpHeaders, subject: Identity | undefined, isUpstreams = false,
): string => {
  if (source === 'none') return ''
  const isIssued = subject?.issuer !== undefined
  const scopes = isUpstreams && source === 'headers' ? [...subject?.scopes ?? []].sort().join(' ') : ''
  const shown = isIssued ? `${subjectName(subject)}${scopes}` : headers.authorization
  const key = source === 'token'
    ? [shown]
    : Object.keys(headers).filter(identifiesClient).sort()
        .map(name => [name, name === 'authorization' ? shown : headerText(headers[name])])
  return hash('sha256', JSON.stringify(key), 'base64url')
}

/** Every header that is not on the harmless list is part of the authorization context. */
export const identifiesClient = (name: string): boolean => !harmless.has(name) && !harmlessPrefixes.test(name)

/**
 * Headers about the message, its route and its trace, which differ between requests of one client. A header
 * that is missing here costs additional lists; a header that is here by mistake would share a list between
 * clients.
 */
const harmless: ReadonlySet<string> = new Set(`
  accept accept-charset accept-encoding accept-language cache-control connection content-encoding
  content-language content-length content-type date dnt expect forwarded host if-match if-modified-since
  if-none-match if-range if-unmodified-since keep-alive last-event-id max-forwards origin pragma priority
  proxy-connection range referer save-data te trailer transfer-encoding upgrade upgrade-insecure-requests
  user-agent via x-requested-with

  mcp-method mcp-name mcp-protocol-version idempotency-key x-idempotency-key

  b3 baggage correlation-id elastic-apm-traceparent newrelic request-id sentry-trace traceparent tracestate
  uber-trace-id x-amzn-trace-id x-cloud-trace-context x-correlation-id x-newrelic-id x-newrelic-transaction
  x-request-id x-request-start x-retry-count x-span-id x-trace-id x-transaction-id

  akamai-origin-hop cdn-loop cf-connecting-ip cf-connecting-ipv6 cf-ew-via cf-ipcity cf-ipcontinent
  cf-ipcountry cf-iplatitude cf-iplongitude cf-postal-code cf-pseudo-ipv4 cf-ray cf-region cf-timezone
  cf-visitor cf-worker fastly-client-ip fastly-ff fastly-ssl fastly-temp-xff fly-client-ip
  fly-forwarded-port fly-forwarded-proto fly-forwarded-ssl fly-region fly-request-id fly-trace
  true-client-ip x-akamai-config-log-detail x-amz-cf-id x-appengine-city x-appengine-country
  x-appengine-request-log-id x-arr-log-id x-arr-ssl x-azure-clientip x-azure-fdid x-azure-ref
  x-azure-requestchain x-azure-socketip x-client-ip x-cluster-client-ip x-edge-location x-fd-healthprobe
  x-forwarded-for x-forwarded-host x-forwarded-port x-forwarded-prefix x-forwarded-proto x-forwarded-scheme
  x-forwarded-server x-original-forwarded-for x-original-host x-original-uri x-original-url x-queue-start
  x-real-ip x-scheme x-varnish x-vercel-deployment-url x-vercel-forwarded-for x-vercel-id
`.trim().split(/\s+/))

/** Headers of browsers, copies of arguments (SEP-2243), tracers and service meshes. */
const harmlessPrefixes =
  /^(?:sec-|mcp-param-|ot-|x-b3-|x-datadog-|x-envoy-|x-vercel-ip-|cloudfront-(?:viewer|is)-)/

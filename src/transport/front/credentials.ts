import { hash } from 'node:crypto'
import { isObject, isString, member, parseJson, type Json } from '../../protocol/json.js'

/**
 * The headers by which one client may be told from another. They divide what clients without a session share:
 * lists, above all.
 * `nobody`: none, for a process sees no header;
 * `token`: our own token, for a process sees no other;
 * `server`: all that are not known to say nothing of who asks, for an HTTP server sees them, and may list by
 * them.
 */
export type Credentials = 'nobody' | 'token' | 'server'

/** Equal for requests that may be one client's. Says nothing about the credentials themselves. */
export const contextDigest = (credentials: Credentials, headers: ReadonlyMap<string, string>): string => {
  if (credentials === 'nobody') return ''
  const told = credentials === 'token'
    ? [headers.get('authorization')]
    : [...headers].filter(([name]) => tellsWho(name)).sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, value]) => [name, bearerIn(value) ?? value])
  return hash('sha256', JSON.stringify(told), 'base64url')
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

/**
 * Whether a header may say who asks. Each word of its name is looked at: a word for people and their papers settles it, whoever has added
 * the header; else a word for messages and traces, or the name of who adds such things on the way, says that it does not. What says nothing of itself counts.
 */
export const tellsWho = (name: string): boolean => {
  if (describing.has(name) || /^(?:mcp-param-|sec-)|-(?:client|socket)?ip$/.test(name)) return false
  const words = name.split(/[-_.]/)
  if (words.some(word => people.has(word) || /auth|user|token|jwt|cert/.test(word))) return true
  return !words.some(word => ofMessages.has(word)) && !onTheWay.test(name)
}

/** Of the message, its form and its way, by names that follow no rule. */
const describing: ReadonlySet<string> = new Set([
  'accept', 'accept-charset', 'accept-encoding', 'accept-language', 'b3', 'baggage', 'cache-control', 'connection', 'content-encoding', 'content-language',
  'content-length', 'content-type', 'date', 'dnt', 'expect', 'forwarded', 'host', 'idempotency-key', 'if-match', 'if-modified-since', 'if-none-match', 'if-range', 'if-unmodified-since',
  'keep-alive', 'last-event-id', 'max-forwards', 'mcp-method', 'mcp-name', 'mcp-protocol-version', 'origin', 'pragma', 'priority', 'proxy-connection', 'range',
  'referer', 'save-data', 'sentry-trace', 'te', 'traceparent', 'tracestate', 'trailer', 'transfer-encoding', 'upgrade', 'upgrade-insecure-requests', 'user-agent', 'via',
  'x-amz-cf-id', 'x-idempotency-key', 'x-requested-with', 'x-varnish',
])

const people: ReadonlySet<string> = new Set([
  'access', 'account', 'actor', 'api', 'apikey', 'claims', 'client', 'consumer', 'cookie', 'credential', 'credentials', 'customer', 'email', 'group', 'groups', 'identity',
  'key', 'login', 'member', 'oidc', 'org', 'organization', 'owner', 'password', 'person', 'principal', 'profile', 'project', 'role', 'roles', 'scope', 'scopes', 'secret', 'session',
  'sid', 'signature', 'sub', 'subject', 'team', 'tenant', 'workspace',
])

const ofMessages: ReadonlySet<string> = new Set([
  'attempt', 'correlation', 'hop', 'hops', 'latency', 'nonce', 'parentspanid', 'ray', 'request', 'requestid', 'retry', 'sampled', 'span', 'spanid', 'timestamp', 'trace', 'traceid', 'tracing',
  'transaction',
])

/** Proxies, content networks, meshes and tracers. */
const onTheWay =
  /^(?:akamai-|cdn-|cf-|cloudfront-|ot-|fastly-|fly-|uber-|x-akamai-|x-amz-cf-|x-amzn-trace-|x-appengine-|x-arr-|x-azure-|x-b3-|x-cache|x-cdn-|x-cloud-trace-|x-datadog-|x-edge-|x-envoy-|x-fd-|x-forwarded-|x-newrelic-|x-original-|x-queue-|x-vercel-|newrelic$|elastic-apm-)/

import type { HttpHeaders } from '../../transport.js'

/** What a server answers in place of a result. */
export interface SessionRefusal {
  readonly status: number
  readonly headers: HttpHeaders
  /** Of a JSON-RPC error; undefined for any other body. */
  readonly code?: number | undefined
  /** The message of the error, or the body. */
  readonly text: string
}

/** Statuses with which servers say that they do not know a session; 404 and 410 say so by themselves. */
const mayBeLost: ReadonlySet<number> = new Set([200, 400, 401, 409, 422, 500, 503])

/**
 * Whether a server that was sent a session id says that it does not know the session any more. 404 is the
 * form of the specification (2025-11-25, session management); other servers say it in words.
 */
export const losesSession = ({ status, headers, code, text }: SessionRefusal): boolean => {
  if (status === 404 || status === 410) return true
  if (!mayBeLost.has(status)) return false
  // A challenge asks for credentials (RFC 9110, section 11.6.1).
  if (status === 401 && headers.has('www-authenticate')) return false
  if (status === 200 && !isOfServer(code)) return false
  return clausesOf(text).some(saysLost)
}

/** With HTTP 200, invalid params and internal errors are a tool's own. */
const isOfServer = (code: number | undefined): boolean =>
  code === -32600 || code === 404 || code === 410 || (code !== undefined && code <= -32000 && code > -32100)

/** Most characters that are read of a body. */
const maxText = 4096

/** The clauses of a text or of JSON, as lower-case words; `SESSION_NOT_FOUND` is one. */
const clausesOf = (text: string): readonly string[] =>
  text.slice(0, maxText).replace(/(session.?id): /gi, '$1 ')
    .split(/[.;!?](?=\s|"|$)|[:,]\s|[\n<>{}[\]]|"\s?[:,]\s?"?/)
    .map(clause => clause.replace(/([a-z])([A-Z])/g, '$1 $2').toLowerCase()
      .replace(/n['’]t\b/g, 'nt').replace(/[^\p{L}\p{N}.]+/gu, ' ').trim())

const saysLost = (clause: string): boolean =>
  wantsHandshake.test(clause) || (!isAboutElse.test(clause) && lost.some(form => form.test(clause)))

const state = '(?:unknown|invalid|expired|missing|stale|lost|gone|inactive|closed|ended|terminated|deleted|' +
  'removed|destroyed|evicted|forgotten|unrecogni[sz]ed|nonexistent)'
const negation = '(?:not|no|never|cannot|unable|(?:do|does|did|is|was|has|could|ca|wo)nt)'
const between = '(?: (?:or|and|an?|the|any|your|this|that|such|to|be|find|found|locate|know|recogni[sz]e|' +
  'have|match|resolve|valid|active|existing|open|current|mcp|http|streamable|client|server|transport|' +
  `connection|for|with|${state}))`

const lost: readonly RegExp[] = [
  // An unknown session, no valid session id, could not find the session
  new RegExp(`\\b(?:${state}|${negation}|without)${between}{0,6} session\\b`),
  // Session abc not found, the session has expired, the session id header is required
  new RegExp(`\\bsession\\b(?: \\S+){0,6} (?:${state}|required|timed out|no longer)\\b`),
  new RegExp(`\\bsession\\b(?: \\S+){0,5} ${negation}(?: \\S+)? (?:found|known|valid|active|alive|open|` +
    'exists?|recogni[sz]ed|registered|available|established|present|provided)\\b'),
]

const wantsHandshake = new RegExp('(?:^|\\b(?:server|session|connection|transport)(?: (?:is|was|has))? )' +
  'not(?: (?:been|yet))? initiali[sz]ed\\b|\\bre ?initiali[sz]e\\b')

/** A session of another kind, or another fault than that the session is lost. */
const isAboutElse = new RegExp('\\b(?:limit|too many|max(?:imum)?|exceed(?:s|ed)?|quota|tokens?|credentials?|' +
  'passwords?|cookies?|permissions?|busy|locked|arguments?|param(?:eter)?s?|propert(?:y|ies)|field|tools?|' +
  'creat(?:e|ed|ing)|session (?:store|storage|data|name|title|management|type)|(?:user|login|auth|browser|' +
  'chat|shell|ssh|debug|terminal|payment|checkout) session)\\b')

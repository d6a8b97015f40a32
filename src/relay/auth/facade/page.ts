import { hash } from 'node:crypto'
import { clip } from '#relay/protocol/quote.js'
import type { SitePage } from '#relay/transport/front/site.js'
import { isLoopback } from '#relay/base/addresses.js'

const style = `
body { font: 16px/1.5 system-ui, sans-serif; max-width: 34em; margin: 12vh auto; padding: 0 1em }
body, button { color: #1b1b1b; background: #fff; border-radius: .4em }
h1 { font-size: 1.3em } dt { font-weight: 600; margin-top: .6em } dd { margin: 0; overflow-wrap: anywhere }
button { font: inherit; padding: .5em 1.4em; margin: 1.2em .8em 0 0; border: 1px solid #555 }
button[value=allow] { background: #10508c; border-color: #10508c; color: #fff }
@media (prefers-color-scheme: dark) { body, button { background: #16181b; color: #e8e8e8 } }`

/** Nothing runs, nothing is loaded, no other page can show it in a frame. */
const policy = `default-src 'none'; style-src 'sha256-${hash('sha256', style, 'base64')}'; ` +
  'base-uri \'none\'; frame-ancestors \'none\''

const headers = {
  'content-type': 'text/html; charset=utf-8', 'content-security-policy': policy, 'x-frame-options': 'DENY',
  'x-content-type-options': 'nosniff', 'cache-control': 'no-store', 'referrer-policy': 'same-origin',
}

/** Text that a stranger wrote, for a person to read. Hosts and scopes are shown whole: their ends count. */
const shown = (text: string): string => escaped(clip(text))

const escaped = (text: string): string =>
  text.replace(/[&<>"']/g, character => `&#${character.charCodeAt(0)};`)

const document = (title: string, body: string): string =>
  `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">` +
  `<title>${title}</title><style>${style}</style><main><h1>${title}</h1>${body}</main></html>`

export interface Consent {
  readonly server: string
  /** The host at which the user has logged in. */
  readonly issuer: string
  /** What the client calls itself, and the host that answers for it. */
  readonly name?: string | undefined
  readonly host?: string | undefined
  readonly redirectUri: string
  readonly scopes: readonly string[]
  /** Where the form goes, and what it brings back. */
  readonly action: string
  readonly request: string
}

/**
 * Asks the user whether this client may act in their name. All clients share one registration at the issuer,
 * so the issuer cannot ask that itself (MCP security best practices, confused deputy).
 */
export const consentPage = (consent: Consent): SitePage => {
  const { server, issuer, name, host, redirectUri, scopes, action, request } = consent
  const facts = [
    [
      'Program', name === undefined ? 'It does not tell its name' : `${shown(name)} (so it calls itself)`,
      ...(host === undefined ? [] : [`of ${escaped(host)}`]),
    ],
    ['It gets the answer at', escaped(placeOf(redirectUri))],
    ['Server', shown(server)],
    ...(scopes.length > 0 ? [['It asks for', ...scopes.map(escaped)]] : []),
  ]
  const list = facts.map(([name, ...lines]) =>
    `<dt>${name}</dt>${lines.map(line => `<dd>${line}</dd>`).join('')}`).join('')
  const body = '<p>A program asks to use an MCP server in your name. Allow it only if you have just ' +
    `started this login yourself. You have logged in at ${escaped(issuer)}.</p>` +
    `<dl>${list}</dl>` +
    `<form method="post" action="${escaped(action)}">` +
    `<input type="hidden" name="request" value="${escaped(request)}">` +
    '<button name="answer" value="allow">Allow</button>' +
    '<button name="answer" value="deny">Cancel</button></form>'
  const text = document('Allow this program?', body)
  return { status: 200, headers, body: text }
}

const placeOf = (redirectUri: string): string => {
  const url = new URL(redirectUri)
  const { protocol, host } = url
  if (/^https?:$/.test(protocol)) {
    return isLoopback(url.hostname) ? `this computer (${host})` : host
  }
  return `an app of this computer (${clip(host === '' ? protocol : `${protocol}//${host}`)})`
}

/** @param reason a sentence of ours */
export const faultPage = (reason: string, status = 400): SitePage =>
  ({ status, headers, body: document('This login cannot go on', `<p>${escaped(reason)}</p>`) })

import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { refusal, type Refusal } from './refusal.js'

export interface DoorOptions {
  /** The address listened on. */
  readonly host: string
  /** Names by which clients may reach us besides the loopback names and `host`, without ports. */
  readonly allowHosts: readonly string[]
  /** Origins of web pages that may call us, such as `https://app.example.com`. */
  readonly allowOrigins: readonly string[]
  /** Bearer tokens, one of which a client must show; none: open. */
  readonly tokens: readonly string[]
}

const loopback: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]'])
const wildcards: ReadonlySet<string> = new Set(['', '0.0.0.0', '::', '[::]'])

/** Who may come in: judged by the head of a request alone, before any of its body is read. */
export class Door {
  readonly #hosts: ReadonlySet<string>
  readonly #origins: ReadonlySet<string>
  readonly #tokens: readonly Buffer[]
  readonly #anyAddress: boolean
  readonly #loopbackOnly: boolean

  constructor({ host, allowHosts, allowOrigins, tokens }: DoorOptions) {
    const name = hostName(bracketed(host)) ?? ''
    this.#anyAddress = wildcards.has(host)
    this.#loopbackOnly = loopback.has(name)
    this.#hosts = new Set([...loopback, name, ...allowHosts.map(allowed => bracketed(allowed).toLowerCase())])
    this.#origins = new Set(allowOrigins.map(origin => origin.toLowerCase()))
    this.#tokens = tokens.map(digest)
  }

  /** Against DNS rebinding (MCP Streamable HTTP, security): the page's browser names the page's host, not ours. */
  checkNames({ host, origin }: IncomingHttpHeaders): Refusal | undefined {
    if (!this.#knowsHost(host)) return refusal(403, 'This Host is not allowed here: name it in allowHosts')
    if (origin !== undefined && !this.#knowsOrigin(origin)) {
      return refusal(403, 'This Origin is not allowed here: name it in allowOrigins')
    }
    return undefined
  }

  /** @returns which of the tokens was shown, counted from 0; undefined where none is asked for */
  checkToken({ authorization }: IncomingHttpHeaders): number | undefined | Refusal {
    if (this.#tokens.length === 0) return undefined
    const shown = /^bearer +([^\s,]+)$/i.exec(authorization ?? '')?.[1]
    if (shown === undefined) return refusal(401, 'A bearer token is needed', { 'www-authenticate': 'Bearer' })
    const hash = digest(shown)
    // Every token is compared, each in constant time: how long it takes says nothing about any of them.
    const known = this.#tokens.reduce((found, token, index) => (timingSafeEqual(token, hash) ? index : found), -1)
    return known >= 0 ? known : refusal(401, 'The bearer token is not known', { 'www-authenticate': 'Bearer error="invalid_token"' })
  }

  refuses(headers: IncomingHttpHeaders): boolean {
    return this.checkNames(headers) !== undefined || typeof this.checkToken(headers) === 'object'
  }

  /** Whether a bearer token is ours to ask for, and nobody else's to see. */
  get asksForToken(): boolean {
    return this.#tokens.length > 0
  }

  /** Whether pages of this origin may read our answers (CORS); those of loopback origins may call, but are not helped to. */
  sharesWith(origin: string | undefined): origin is string {
    return origin !== undefined && this.#origins.has(origin.toLowerCase())
  }

  #knowsHost(header: string | undefined): boolean {
    const name = hostName(header ?? '')
    if (name === undefined) return false
    // An address cannot be rebound: no name was looked up. It is ours when we listen on all of them.
    return this.#hosts.has(name) || (this.#anyAddress && isAddress(name))
  }

  #knowsOrigin(origin: string): boolean {
    if (this.sharesWith(origin)) return true
    if (!this.#loopbackOnly || !/^https?:\/\//i.test(origin) || !URL.canParse(origin)) return false
    return loopback.has(new URL(origin).hostname)
  }
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

const bracketed = (host: string): string => (host.includes(':') && !host.startsWith('[') ? `[${host}]` : host)

/** The name in a Host header, in lower case, without its port. */
const hostName = (header: string): string | undefined =>
  /^(\[[0-9a-f:.]+\]|[^\s:[\]/@,]+)(?::\d{1,5})?$/i.exec(header)?.[1]?.toLowerCase()

const isAddress = (name: string): boolean => name.startsWith('[') || /^\d{1,3}(?:\.\d{1,3}){3}$/.test(name)

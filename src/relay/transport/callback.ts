import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { hasProc } from '#relay/base/platform/machine.js'

/** Where the user's browser comes back to after a login: a listener on loopback (RFC 8252, section 7.3). */
export interface Callback {
  readonly redirectUri: string
  /**
   * Sends a browser on to the issuer, once: its path is random, and 404 after its first use. It stands where
   * others may read it, in the arguments of the browser and in logs; the issuer's URL holds the `state`.
   */
  readonly startUrl: string
  close(): void
}

interface CallbackOptions {
  /** 0: any free port. */
  readonly port: number
  /** A start page of a process that has ended, which a browser may still ask for. */
  readonly path?: string | undefined
  /** The issuer's URL for this login. */
  readonly start: () => string | undefined
  /** The start page has been used. */
  readonly opened?: () => void
  /** The browser is back. @returns what the page says; undefined when the answer is of another login */
  readonly answered: (parameters: URLSearchParams) => Promise<string> | undefined
}

const back = '/callback'

export const newPath = (): string => `/${randomBytes(16).toString('base64url')}`

/** @throws the system's error when it cannot listen */
export const openCallback = (
  { port, path = newPath(), start, opened, answered }: CallbackOptions,
): Promise<Callback> => {
  // Kept, because a server that is closed has no address, and its last connections may still ask.
  let host = ''
  let unused: string | undefined = path
  const server = createServer({ maxHeaderSize: 32 * 1024, headersTimeout: 10_000 }, (request, response) => {
    const { method, headers, url = '', socket } = request
    const page = (status: number, text: string): void => {
      response.writeHead(status, { ...pageHeaders, 'content-type': 'text/plain; charset=utf-8' })
      response.end(`${text}\n`)
    }
    // A name that leads here by DNS is not ours.
    if (headers.host !== host || method !== 'GET' || isOfAnotherUser(socket)) return page(404, 'Not found')
    // Split by hand: URL throws for some request targets, such as `//`.
    const [pathname = '', ...query] = url.split('?')
    const to = pathname === unused ? start() : undefined
    if (to !== undefined) {
      unused = undefined
      opened?.()
      return void response.writeHead(302, { ...pageHeaders, location: to }).end()
    }
    if (pathname !== back) return page(404, 'This page was opened already, or is of another login.')
    const said = answered(new URLSearchParams(query.join('?')))
    if (said === undefined) return page(400, 'This is the answer to another login: begin again.')
    void said.then(text => page(200, text), () => page(400, failed))
  })
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', () => {
      host = `127.0.0.1:${(server.address() as AddressInfo).port}`
      resolve({
        redirectUri: `http://${host}${back}`,
        get startUrl() {
          return `http://${host}${unused ??= newPath()}`
        },
        close: () => {
          server.close()
          server.closeIdleConnections()
          // A page that is being sent is sent to its end.
          setTimeout(() => server.closeAllConnections(), lastPageMs).unref()
        },
      })
    })
  })
}

/**
 * Whether another user of this machine has connected. Linux tells whose socket the other end is (proc(5),
 * /proc/net/tcp); a peer that it does not list is in another network namespace, or passed on by one of root.
 */
const isOfAnotherUser = ({ remotePort = 0, localPort = 0 }: Socket): boolean => {
  const own = process.getuid?.()
  if (!hasProc() || own === undefined) return false
  const ends = new RegExp(`^ *\\d+: [0-9A-F]+:${hex(remotePort)} [0-9A-F]+:${hex(localPort)} (?:\\S+ +){4}(\\d+) `, 'm')
  try {
    const users = ['tcp', 'tcp6'].flatMap(name => ends.exec(readFileSync(`/proc/net/${name}`, 'utf8'))?.[1] ?? [])
    return users.some(user => user !== '0' && user !== String(own))
  } catch {
    return false
  }
}

const hex = (port: number): string => port.toString(16).toUpperCase().padStart(4, '0')

const failed = 'The login failed: the program that asked for it says why. You can close this page.'

/** In milliseconds. */
const lastPageMs = 2000

const pageHeaders = {
  'cache-control': 'no-store', connection: 'close', 'content-security-policy': 'default-src \'none\'',
  'referrer-policy': 'no-referrer', 'x-content-type-options': 'nosniff',
}

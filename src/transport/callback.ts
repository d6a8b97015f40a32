import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Where the user's browser comes back to after a login: a listener on loopback (RFC 8252, section 7.3). */
export interface Callback {
  readonly redirectUri: string
  /** Sends a browser on to the issuer: short enough for an error message, and not the issuer's text. */
  readonly startUrl: string
  close(): void
}

interface CallbackOptions {
  /** 0: any free port. */
  readonly port: number
  /** The issuer's URL for this login. */
  readonly start: () => string | undefined
  /** The browser is back. @returns what the page says; undefined when the answer is of another login */
  readonly answered: (parameters: URLSearchParams) => Promise<string> | undefined
}

const path = '/callback'

/** @throws the system's error when it cannot listen */
export const openCallback = ({ port, start, answered }: CallbackOptions): Promise<Callback> => {
  // Kept, because a server that is closed has no address, and its last connections may still ask.
  let host = ''
  const server = createServer({ maxHeaderSize: 32 * 1024, headersTimeout: 10_000 }, (request, response) => {
    const { method, headers, url = '' } = request
    const page = (status: number, text: string): void => {
      response.writeHead(status, { ...pageHeaders, 'content-type': 'text/plain; charset=utf-8' })
      response.end(`${text}\n`)
    }
    // A name that leads here by DNS is not ours.
    if (headers.host !== host || method !== 'GET') return page(404, 'Not found')
    // Split by hand: URL throws for some request targets, such as `//`.
    const [pathname = '', ...query] = url.split('?')
    if (pathname === '/') {
      const to = start()
      if (to === undefined) return page(404, 'Not found')
      return void response.writeHead(302, { ...pageHeaders, location: to }).end()
    }
    if (pathname !== path) return page(404, 'Not found')
    const said = answered(new URLSearchParams(query.join('?')))
    if (said === undefined) return page(400, 'This is the answer to another login: begin again.')
    void said.then(text => page(200, text), () => page(400, failed))
  })
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', () => {
      host = `127.0.0.1:${(server.address() as AddressInfo).port}`
      resolve({
        redirectUri: `http://${host}${path}`, startUrl: `http://${host}/`,
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

const failed = 'The login failed: the program that asked for it says why. You can close this page.'

/** In milliseconds. */
const lastPageMs = 2000

const pageHeaders = {
  'cache-control': 'no-store', 'connection': 'close', 'content-security-policy': 'default-src \'none\'',
  'referrer-policy': 'no-referrer', 'x-content-type-options': 'nosniff',
}

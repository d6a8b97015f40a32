import { cli, type Test } from '../../e2e/bridge.js'
import { start, urlOf, type Started } from '../../e2e/harness.js'

export const serveAt = async (
  t: Test, port: number, args: readonly string[], environment: Readonly<Record<string, string>> = {},
): Promise<{ relay: Started; origin: string }> => {
  const relay = start(t, process.execPath, [cli, 'serve', '--listen', `127.0.0.1:${port}`, ...args], environment)
  return { relay, origin: await urlOf(relay) }
}

/** A browser of one user: keeps cookies, follows redirects, and answers the form of the consent. */
export class Browser {
  readonly #cookies = new Map<string, Map<string, string>>()
  /** The pages that it was shown, in order. */
  readonly pages: string[] = []
  /** Where it was, in order. */
  readonly visited: string[] = []

  /**
   * @param stop tells where the client's own page begins
   * @param answer to the consent
   * @returns the URL at which it stopped, or where the page stays
   */
  async open(start: string, stop: (url: URL) => boolean, answer: 'allow' | 'deny' = 'allow'): Promise<URL> {
    let url = new URL(start)
    let form: URLSearchParams | undefined
    for (let steps = 0; steps < 30; steps++) {
      if (stop(url)) return url
      this.visited.push(url.href)
      const response = await this.fetch(url, form)
      form = undefined
      const text = await response.text()
      const location = response.headers.get('location')
      if (location !== null) {
        url = new URL(location, url)
        continue
      }
      this.pages.push(text)
      const action = /<form method="post" action="([^"]*)">/.exec(text)?.[1]
      const request = /name="request" value="([^"]*)"/.exec(text)?.[1]
      if (action === undefined || request === undefined) return url
      url = new URL(action, url)
      form = new URLSearchParams({ request, answer })
    }
    throw new Error('the browser is sent round and round')
  }

  async fetch(url: URL, form?: URLSearchParams): Promise<Response> {
    const own = this.#cookies.get(url.host) ?? new Map<string, string>()
    this.#cookies.set(url.host, own)
    const asks = () => fetch(url, {
      redirect: 'manual',
      headers: {
        cookie: [...own].map(pair => pair.join('=')).join('; '),
        ...(form && { origin: url.origin, 'sec-fetch-site': 'same-origin' }),
      },
      ...(form && { method: 'POST', body: form }),
    })
    // As a browser does, it takes another connection where a replica that has restarted closed an idle one.
    const response = await asks().catch(asks).catch(asks).catch(asks)
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      own.set(name, value)
    }
    return response
  }
}

import { wantedBy, type WantedAccess } from '../http/challenge.js'
import type { Abortable, HttpAsk, HttpReply, HttpRequests, HttpTls } from './pool.js'
import { discard, HttpFailure, HttpUpstream } from './pool.js'

/** What is added to a request so that the server knows who sends it. */
export interface Authorization {
  readonly headers: readonly (readonly [name: string, value: string])[]
}

/** Gets the tokens of one server (auth/client/login.ts). */
export interface Authorizer {
  /** Undefined when there is no token. Never rejects. */
  authorizationFor(method: string, url: URL): Authorization | undefined | Promise<Authorization | undefined>
  /**
   * The server has answered with 401 or 403. Waits for a new token, and so for a user who logs in.
   * @param tries of this request so far
   * @returns false when another try is of no use
   * @throws HttpFailure, which says what the user can do; NoLogin where nobody could be asked
   */
  refused(reply: HttpReply, given: Authorization | undefined, tries: number): Promise<boolean>
  /** Calls a listener every second while a user has to log in. @returns ends that */
  waiting(told: (message: string) => void): () => void
  /** Resolves when no token request is under way. */
  close(): Promise<void>
}

/** No login could begin: no issuer was found, or it cannot be used. */
export class NoLogin extends HttpFailure {}

/** How often a request is sent again. */
const maxTries = 3

/** An HTTP server that wants tokens. */
export class AuthorizedUpstream implements HttpRequests {
  /** @param passesRefusals where no login can begin, the server's refusal is the answer */
  constructor(
    private readonly upstream: Pick<HttpUpstream, keyof HttpUpstream>,
    private readonly authorizer: Authorizer,
    private readonly passesRefusals = false,
  ) {}

  get url(): URL {
    return this.upstream.url
  }

  async request(ask: HttpAsk): Promise<HttpReply> {
    // The client of `serve` has credentials of its own.
    if (ask.headers.has('authorization')) return this.upstream.request(ask)
    for (let tries = 0; ; tries++) {
      const known = this.authorizer.authorizationFor(ask.method, ask.url ?? this.url)
      const given = known instanceof Promise ? await unlessAborted(ask.signal, known) : known
      const headers = given === undefined ? ask.headers : new Map([...ask.headers, ...given.headers])
      const reply = await this.upstream.request({ ...ask, headers })
      // Nobody logs in to end a session.
      const isRefused = (reply.status === 401 || reply.status === 403) && ask.method !== 'DELETE'
      if (!isRefused || tries === maxTries) return reply
      let again = false
      try {
        again = await unlessAborted(ask.signal, this.authorizer.refused(reply, given, tries))
      } catch (error) {
        // A refusal without a challenge may be about something else than credentials, such as the session.
        const isChallenge = reply.headers.has('www-authenticate')
        if (error instanceof NoLogin && (this.passesRefusals || !isChallenge)) return reply
        discard(reply)
        throw error
      }
      if (!again) return reply
      discard(reply)
    }
  }

  async close(): Promise<void> {
    await this.authorizer.close()
    await this.upstream.close()
  }
}

/** Longest wait for a challenge, in milliseconds. */
const challengeMs = 10_000

/** What a server says to somebody who comes without a token. @throws as `HttpUpstream` */
export const challengeOf = async (
  url: URL, tls: HttpTls | undefined, headers: ReadonlyMap<string, string>,
): Promise<{ readonly status: number; readonly wanted: WantedAccess }> => {
  const upstream = new HttpUpstream(url, tls)
  try {
    const reply = await upstream.request({
      method: 'POST', body: Buffer.from('{"jsonrpc":"2.0","id":1,"method":"ping"}'),
      headers: new Map([
        ['accept', 'application/json, text/event-stream'], ['content-type', 'application/json'], ...headers,
      ]),
      signal: AbortSignal.timeout(challengeMs),
    })
    discard(reply)
    return { status: reply.status, wanted: wantedBy(reply.headers) }
  } finally {
    await upstream.close()
  }
}

const unlessAborted = async <Value>(
  signal: AbortSignal | Abortable, value: Promise<Value>,
): Promise<Value> => {
  const gone = () => new HttpFailure('the request was cancelled')
  if (signal.aborted) throw gone()
  return new Promise((resolve, reject) => {
    // An earlier reply ends at an abort as well: its body may still be read.
    const before = signal instanceof AbortSignal ? undefined : signal.onAbort
    const abort = (): void => {
      reject(gone())
      before?.()
    }
    if (signal instanceof AbortSignal) signal.addEventListener('abort', abort, { once: true })
    else signal.onAbort = abort
    void value.then(resolve, reject).finally(() => {
      if (signal instanceof AbortSignal) signal.removeEventListener('abort', abort)
      else if (signal.onAbort === abort) signal.onAbort = before
    })
  })
}

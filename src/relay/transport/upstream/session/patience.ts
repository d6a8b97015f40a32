import type { Frame } from '#relay/protocol/frame.js'
import { only } from '../../http/headers.js'
import { pause, realTimers } from '../../timers.js'
import { isRefused, type HttpReply } from '../pool.js'

/** How long a request waits for a server that is restarting, in milliseconds. */
export const patienceMs = 5000

/** The first pause, in milliseconds; each further one is twice as long. */
const firstMs = 250

/** A gateway that refuses later than this, in milliseconds, may have waited for the server. */
const promptMs = 1000

/** As Envoy writes it: "upstream connect error or disconnect/reset before headers". */
const mayHaveRun = /reset|disconnect|terminat|premature|closed|hang ?up/i

interface Waiting {
  readonly frame: Frame
  readonly ms: number
  readonly signal: AbortSignal
}

/** Decides whether a request that the server did not run is sent again, and waits until then. */
export class Patience {
  readonly #until: number
  #pauseMs = firstMs
  #sentAt = 0

  constructor(private readonly waiting: Waiting) {
    this.#until = realTimers.now() + waiting.ms
  }

  /** Sends the request; again while no connection can be made. @throws what sending it fails with */
  async send(post: () => Promise<HttpReply>): Promise<HttpReply> {
    for (;;) {
      this.#sentAt = realTimers.now()
      try {
        return await post()
      } catch (error) {
        if (!isRefused(error) || !(await this.#pause())) throw error
      }
    }
  }

  /**
   * Waits after a refusal that says that the server is away (RFC 9110, sections 15.6.3 and 15.6.4). A gateway
   * says 502 also of a server that ended while it ran the request, and some say 503 then, in words: what may
   * have an effect is sent again only after a 503 that came at once and speaks of no broken connection.
   * @param text the body
   * @returns true when the request is to be sent again
   */
  after(reply: HttpReply, text = ''): Promise<boolean> {
    const isAway = reply.status === 502 || reply.status === 503
    const isAtOnce = realTimers.now() - this.#sentAt <= promptMs
    const cannotHaveRun = reply.status === 503 && isAtOnce && !mayHaveRun.test(text)
    const mayRepeat = isHarmless(this.waiting.frame) || cannotHaveRun
    return isAway && mayRepeat ? this.#pause(reply) : Promise.resolve(false)
  }

  /** @returns false when the time is over, or nobody waits any more */
  async #pause(reply?: HttpReply): Promise<boolean> {
    const ms = (reply && retryAfter(reply)) ?? this.#pauseMs
    this.#pauseMs *= 2
    if (realTimers.now() + ms > this.#until) return false
    try {
      await pause(ms, this.waiting.signal)
      return true
    } catch {
      return false
    }
  }
}

/** `Retry-After` (RFC 9110, section 10.2.3), in milliseconds. */
const retryAfter = ({ headers }: HttpReply): number | undefined => {
  const value = only(headers, 'retry-after') ?? ''
  if (/^\d{1,9}$/.test(value)) return Math.max(firstMs, Number(value) * 1000)
  const date = value === '' ? NaN : Date.parse(value)
  return Number.isNaN(date) ? undefined : Math.max(firstMs, date - Date.now())
}

/** Requests that change nothing at the server, so that they may run twice. */
const isHarmless = ({ message }: Frame): boolean =>
  (message.kind === 'request' || message.kind === 'notification') && harmless.has(message.method)
const harmless: ReadonlySet<string> = new Set([
  'initialize', 'notifications/initialized', 'server/discover', 'ping', 'tools/list', 'prompts/list',
  'prompts/get', 'resources/list', 'resources/templates/list', 'resources/read', 'completion/complete',
])

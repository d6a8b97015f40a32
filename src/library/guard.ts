import type { Entry, SchemaChecker } from '#relay/core/vocabulary.js'
import { asError, CustomsError } from '#relay/base/errors.js'
import { openSession } from '#relay/session/open.js'
import { createSchemaChecker } from '#relay/schema/index.js'
import { ClientEnd } from './client-end.js'
import { type JudgeOptions, readOptions } from './options.js'
import type { GuardedTransport, SdkTransport } from './sdk-transport.js'
import { ServerEnd } from './server-end.js'

export interface GuardOptions extends JudgeOptions {
  /**
   * Called with each record before its message is forwarded. When it throws, nothing passes any more: the
   * transport is closed, and the error goes to `onerror`. A returned promise is not awaited; if it is
   * rejected, nothing passes from then on.
   */
  readonly onRecord?: (entry: Entry) => unknown
  /**
   * `auto`: a client that begins with `initialize` also understands a server that speaks 2026-07-28 only;
   * `both`: also the other way round. Default: `auto`.
   */
  readonly translate?: 'auto' | 'both' | 'off'
  /** A schema checker for several guards, with its own limits; the caller closes it. Default: a new one. */
  readonly checker?: SchemaChecker
}

/**
 * Wraps a client transport with a relay like that of `mcp-customs wrap`: `client.connect(guard(transport))`.
 * @throws CustomsError BAD_CONFIG, naming the option
 */
export const guard = (transport: SdkTransport, options: GuardOptions = {}): GuardedTransport => {
  const missing = (['start', 'send', 'close'] as const).find(name => typeof transport[name] !== 'function')
  if (missing !== undefined) {
    throw new CustomsError('BAD_CONFIG', `guard: the transport has no ${missing}(): give it one of the SDK's`)
  }
  return new Guarded(transport, options)
}

class Guarded implements GuardedTransport {
  onmessage?: ((message: unknown, extra?: unknown) => void) | undefined
  onclose?: (() => void) | undefined
  onerror?: ((error: Error) => void) | undefined
  declare readonly sessionId?: string
  declare readonly hasPerRequestStream?: boolean
  setProtocolVersion?: (version: string) => void
  setSupportedProtocolVersions?: (versions: string[]) => void
  readonly #inner: SdkTransport
  readonly #client: ClientEnd
  readonly #server: ServerEnd
  readonly #begin: () => void
  /** The rejection of an `onRecord` promise. */
  #failure: { readonly error: unknown } | undefined

  constructor(inner: SdkTransport, options: GuardOptions) {
    const judgement = readOptions(options, { onRecord: 'function', checker: 'object', translate: 'string' })
    const { limits } = judgement
    const { translate = 'auto' } = options
    if (!['auto', 'both', 'off'].includes(translate))
      throw new CustomsError('BAD_CONFIG', 'translate must be auto, both or off')
    this.#inner = inner
    this.#client = new ClientEnd(limits, (message, extra) =>
      this.#call(() => this.onmessage?.(message, extra)),
    )
    this.#server = new ServerEnd(inner, this.#client, {
      error: error => this.#reportError(error),
      closed: () => this.#call(() => this.onclose?.()),
    })
    this.#begin = () => {
      const checker = options.checker ?? createSchemaChecker(limits)
      const audit = (entry: Entry): undefined => this.#record(options.onRecord, entry)
      const eras = { translate, limits }
      const session = openSession({ judgement, checker, audit, eras }, this.#client, () => this.#server)
      session.start()
      void session.ended.then(async ({ failure }) => {
        if (options.checker === undefined) await checker.close()
        if (failure !== undefined) this.#reportError(failure)
      })
    }
    mirror(inner, this)
  }

  async start(): Promise<void> {
    this.#begin()
    try {
      await this.#inner.start()
    } catch (error) {
      this.#server.end('the transport could not be started')
      throw error
    }
  }

  send(message: unknown, options?: unknown): Promise<void> {
    return this.#client.submit(message, options)
  }

  close(): Promise<void> {
    return this.#server.disconnect()
  }

  #record(onRecord: GuardOptions['onRecord'], entry: Entry): undefined {
    if (this.#failure !== undefined) throw this.#failure.error
    settled(onRecord?.(entry), error => {
      this.#failure = { error }
      void this.#server.close()
    })
  }

  /** Calls a handler of the application. Its errors go to `onerror`. */
  #call(handler: () => unknown): void {
    try {
      settled(handler(), error => this.#reportError(error))
    } catch (error) {
      this.#reportError(error)
    }
  }

  #reportError(error: unknown): void {
    try {
      // Errors of `onerror` itself are dropped.
      settled(this.onerror?.(asError(error)), () => undefined)
    } catch {}
  }
}

const settled = (returned: unknown, failed: (error: unknown) => void): void => {
  if (returned instanceof Promise) returned.catch(failed)
}

/** Passes on the other members that SDKs use, if the inner transport has them. */
const mirror = (inner: SdkTransport, outer: Guarded): void => {
  for (const name of ['sessionId', 'hasPerRequestStream'] as const) {
    Object.defineProperty(outer, name, { get: () => inner[name], enumerable: true, configurable: true })
  }
  if (inner.setProtocolVersion) outer.setProtocolVersion = version => inner.setProtocolVersion?.(version)
  if (inner.setSupportedProtocolVersions)
    outer.setSupportedProtocolVersions = versions => inner.setSupportedProtocolVersions?.(versions)
}

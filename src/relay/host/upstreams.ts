import type { Endpoint, NewSession } from '#relay/transport/front/front.js'
import { ChurnSet } from '#relay/core/memory.js'
import { settingOf } from '#relay/core/options.js'
import type { Transport } from '#relay/transport/transport.js'
import type { Condition, ServerHealth } from '#relay/session/health.js'
import { LegacySessions } from '#relay/eras/legacy-sessions.js'
import { type Guard, type OpenServer, openSession } from '#relay/session/open.js'
import type { SessionOutcome } from '#relay/session/session.js'
import type { Session } from '#relay/session/session.js'

/** The upstream servers by name; replaced together when the configuration changes. */
export class Upstreams {
  #current: ReadonlyMap<string, Upstream>
  /** Former upstreams that still have sessions. */
  readonly #retired = new Set<Upstream>()
  #urgency = 0

  constructor(upstreams: ReadonlyMap<string, Upstream>) {
    this.#current = upstreams
  }

  /** New sessions get the new upstreams. Running sessions keep the old ones, or are ended. */
  replace(upstreams: ReadonlyMap<string, Upstream>, running: 'finish' | 'end' = 'finish'): void {
    for (const upstream of this.#current.values()) {
      this.#retired.add(upstream)
      void upstream.retire().then(() => this.#retired.delete(upstream))
    }
    if (running === 'end') for (const upstream of this.#retired) void upstream.stop(1)
    this.#current = upstreams
    if (this.#urgency > 0) void this.stop(this.#urgency)
  }

  /** By path: `/NAME/mcp`, and `/mcp` for the only one. */
  endpoints(isOnly = this.#current.size === 1): ReadonlyMap<string, Endpoint> {
    const paths = new Map<string, Endpoint>()
    for (const [name, upstream] of this.#current) {
      const { passesAuthorization } = upstream
      const endpoint: Endpoint = {
        name,
        server: upstream.kind,
        ...(passesAuthorization !== undefined && { passesAuthorization }),
        scopes: upstream.scopes,
        shared: upstream.shared,
        scopesOf: tool => (this.#current.get(name) ?? upstream).scopesOf(tool),
        open: opening => {
          const now = this.#current.get(name)
          if (now?.kind === upstream.kind) return now.open(opening)
          return turnAway(opening.transport)
        },
      }
      paths.set(`/${name}/mcp`, endpoint)
      if (isOnly) paths.set('/mcp', endpoint)
    }
    return paths
  }

  /** Which server stands at a path. */
  nameAt(path: string): string | undefined {
    const [first] = this.#current.keys()
    return path === '/mcp' ? first : [...this.#current.keys()].find(name => path === `/${name}/mcp`)
  }

  async ready(): Promise<ReadonlyMap<string, Condition>> {
    return new Map(
      await Promise.all(
        [...this.#current].map(async ([name, upstream]) => [name, await upstream.ready()] as const),
      ),
    )
  }

  /** Ends all sessions. @param urgency as that of `Session.stop` */
  async stop(urgency: number): Promise<void> {
    this.#urgency = urgency
    await Promise.all([...this.#current.values(), ...this.#retired].map(upstream => upstream.stop(urgency)))
  }
}

export interface Connector {
  /** stdio: a process for each session, and one for all clients without a session. */
  readonly kind: 'stdio' | 'http'
  /** Opens the server's side of a session. */
  connect(opening: NewSession): OpenServer
  /** As `connect`, for a session that keeps the server's session itself, because its clients have none. */
  connectAlone(opening: NewSession): OpenServer
  /** Whether the server can be reached. */
  ready(): Promise<boolean>
  /** Called after the last session. */
  close(): Promise<void>
}

export interface UpstreamOptions {
  readonly guard: Guard & { close(): Promise<void> }
  readonly connector: Connector
  readonly health: Pick<ServerHealth, 'problem' | 'stopping'>
  /** See `Endpoint`. */
  readonly passesAuthorization?: boolean | undefined
  /** Scopes that a token needs for this server. */
  readonly scopes?: readonly string[] | undefined
  /** The sessions as replicas share them; undefined: nothing is shared. */
  readonly shared?: Endpoint['shared']
  readonly sessionStarted: () => void
  readonly sessionEnded: (session: Pick<SessionOutcome, 'failure' | 'isAuditFailure'>) => void
}

/** One server with its sessions, and the parts that they share. */
export class Upstream {
  readonly #options: UpstreamOptions
  readonly #sessions = new ChurnSet<Session>()
  #retired = false
  /** The server has shown that it speaks 2026-07-28. */
  #isModern = false
  #closed: Promise<void> | undefined
  #tellClosed: () => void = () => undefined
  readonly closed = new Promise<void>(resolve => {
    this.#tellClosed = resolve
  })

  constructor(options: UpstreamOptions) {
    this.#options = options
  }

  get kind(): Connector['kind'] {
    return this.#options.connector.kind
  }

  get passesAuthorization(): boolean | undefined {
    return this.#options.passesAuthorization
  }

  get scopes(): readonly string[] | undefined {
    return this.#options.scopes
  }

  get shared(): Endpoint['shared'] {
    return this.#options.shared
  }

  scopesOf(tool: string): readonly string[] {
    return settingOf(this.#options.guard.judgement.ruling, tool)?.scopes ?? []
  }

  async ready(): Promise<Condition> {
    const { connector, health } = this.#options
    return { isReachable: await connector.ready(), problem: health.problem }
  }

  open(opening: NewSession): Promise<void> {
    const { guard, connector } = this.#options
    const { kind, transport } = opening
    const isOfMany = kind === 'stateless'
    if (!isOfMany || guard.eras?.translate !== 'both' || this.#isModern)
      return this.#begin(opening, transport, connector.connect(opening), isOfMany)
    return new Promise(closed => {
      new LegacySessions({
        client: transport, closed,
        openAlone: client =>
          void this.#begin({ ...opening, shared: undefined }, client, connector.connectAlone(opening), false),
        openShared: (client, isKnown) => {
          this.#isModern ||= isKnown
          void this.#begin(opening, client, connector.connect(opening), true)
        },
      }).start()
    })
  }

  #begin(
    { kind, joined, peer, shared, agreed, newSessionId }: NewSession, client: Transport, server: OpenServer,
    stateless: boolean,
  ): Promise<void> {
    const { guard, sessionStarted, sessionEnded } = this.#options
    const session = openSession(guard, client, server, {
      stateless, joined, peer, shared, agreed, ...(kind === 'upstream' && { newSessionId }),
    })
    this.#sessions.add(session)
    sessionStarted()
    session.start()
    return session.ended.then(ended => {
      this.#sessions.delete(session)
      sessionEnded(ended)
      this.#closeIfLast()
    })
  }

  /** Takes no new sessions. Resolves after the last running session. */
  retire(): Promise<void> {
    this.#retired = true
    this.#closeIfLast()
    return this.closed
  }

  /** Ends all sessions. @param urgency as that of `Session.stop` */
  stop(urgency: number): Promise<void> {
    this.#options.health.stopping()
    for (const session of this.#sessions.values()) session.stop(urgency)
    return this.retire()
  }

  #closeIfLast(): void {
    if (!this.#retired || this.#sessions.size > 0) return
    const { guard, connector } = this.#options
    this.#closed ??= Promise.all([connector.close(), guard.close()]).then(this.#tellClosed)
  }
}

/** Closes a client that cannot be served. */
export const turnAway = (transport: Transport): void => {
  transport.start(() => undefined)
  void transport.close()
}

import type { IncomingMessage } from 'node:http'
import { contentType } from '../telemetry/registry.js'
import { createListener, text, type Answer, type Listener } from './listener.js'
import type { PageRoutes } from './page.js'

export interface AdminOptions {
  /** The address to listen on: one of its own, apart from that of the clients. */
  readonly host: string
  /** 0 picks one. */
  readonly port: number
  /** Names by which it may be called, besides `host`, those of loopback, and addresses; without ports. */
  readonly allowHosts?: () => readonly string[]
  readonly state: AdminState
  /** Longest wait for `state.ready`, in milliseconds (5000); a state that is not known by then is not ready. */
  readonly readyMs?: number
  /** The live page, where there is one. */
  readonly page?: PageRoutes
}

/** What the listener tells about. */
export interface AdminState {
  /** Whether each server, by its name in the configuration, can be reached. */
  ready(): Promise<ReadonlyMap<string, boolean>>
  /** The metrics in Prometheus's text format. */
  metrics(): Promise<string>
}

/** Tells operators and their tools how the relay is: `/healthz`, `/readyz` and `/metrics`, nothing of which is secret, and the live page. Nothing to change. */
export const adminServer = ({ host, port, allowHosts = () => [], state, readyMs = 5000, page }: AdminOptions): Listener =>
  createListener({
    name: 'the admin listener', host, port, allowHosts,
    answer: (request, response) => page?.(request, response) ?? answerTo(request, state, readyMs),
  })

const answerTo = async ({ url = '' }: IncomingMessage, state: AdminState, readyMs: number): Promise<Answer> => {
  const [path = ''] = url.split('?', 1)
  switch (path) {
    case '/healthz':
      return text(200, 'ok')
    case '/readyz':
      return readiness(state, readyMs)
    case '/metrics':
      return { status: 200, type: contentType, body: await state.metrics() }
    default:
      return text(404, 'not found')
  }
}

const readiness = async (state: AdminState, readyMs: number): Promise<Answer> => {
  const servers = await within(readyMs, state.ready())
  const ready = servers !== undefined && [...servers.values()].every(Boolean)
  const body = { ready, servers: Object.fromEntries(servers ?? []) }
  return { status: ready ? 200 : 503, type: 'application/json', body: `${JSON.stringify(body)}\n` }
}

/** @returns undefined when it takes longer, or fails */
const within = <Value>(ms: number, value: Promise<Value>): Promise<Value | undefined> =>
  new Promise(resolve => {
    const timer = setTimeout(() => resolve(undefined), ms)
    value
      .then(resolve, () => resolve(undefined))
      .finally(() => clearTimeout(timer))
  })

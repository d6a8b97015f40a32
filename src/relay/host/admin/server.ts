import type { IncomingMessage } from 'node:http'
import { type Condition, wellIn } from '#relay/session/health.js'
import { contentType } from '#relay/telemetry/registry.js'
import { createAdminListener, textAnswer, type PageAnswer, type Listener } from './listener.js'
import type { PageRoutes } from './page.js'

export interface AdminOptions {
  /** The address to listen on, separate from the clients' one. */
  readonly host: string
  /** 0: any free port. */
  readonly port: number
  /** Allowed names in the Host header besides `host`, localhost and IP addresses; without ports. */
  readonly allowHosts?: () => readonly string[]
  readonly state: AdminState
  /** Longest wait for `state.ready`, in milliseconds (5000); after it, the state is "not ready". */
  readonly readyMs?: number
  /** The live page, where there is one. */
  readonly page?: PageRoutes
}

/** The state that the listener reports. */
interface AdminState {
  /** The condition of each server, by its name in the configuration. */
  ready(): Promise<ReadonlyMap<string, Condition>>
  /** The metrics in Prometheus's text format. */
  metrics(): Promise<string>
}

/**
 * The admin listener: `/healthz`, `/readyz` and `/metrics`, none of them secret, and the live page.
 * Read-only.
 */
export const adminServer = (
  { host, port, allowHosts = () => [], state, readyMs = 5000, page }: AdminOptions,
): Listener =>
  createAdminListener({
    name: 'the admin listener', host, port, allowHosts,
    answer: (request, response) => page?.(request, response) ?? responseTo(request, state, readyMs),
  })

const responseTo = async (
  { url = '' }: IncomingMessage, state: AdminState, readyMs: number,
): Promise<PageAnswer> => {
  const [path = ''] = url.split('?', 1)
  switch (path) {
    case '/healthz':
      return textAnswer(200, 'ok')
    case '/readyz':
      return readiness(state, readyMs)
    case '/metrics':
      return { status: 200, type: contentType, body: await state.metrics() }
    default:
      return textAnswer(404, 'not found')
  }
}

const readiness = async (state: AdminState, readyMs: number): Promise<PageAnswer> => {
  const servers = await within(readyMs, state.ready())
  const conditions = servers ?? new Map<string, Condition>()
  const ready = servers !== undefined && [...conditions.values()].every(({ isReachable }) => isReachable)
  const problems = [...conditions].filter(([, { problem }]) => problem !== undefined)
    .map(([name, { problem }]) => [name, problem])
  const body = {
    ready,
    // A server with a problem may still serve the next session, so a problem alone does not change `ready`.
    ...(problems.length > 0 && { degraded: true, problems: Object.fromEntries(problems) as object }),
    servers: Object.fromEntries(wellIn(conditions)),
  }
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

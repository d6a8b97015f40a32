import { CustomsError } from '../errors.js'
import { openSession } from '../gateway/open.js'
import type { Session } from '../gateway/session.js'
import { openGuard } from './guard.js'
import { setUp, type ServerSetup } from './setup.js'
import type { SharedFlags, Target } from './flags.js'
import { stdioClient } from '../transport/client-stdio.js'
import { exitCodeOf } from '../transport/process.js'
import { stdioServer } from '../transport/server-stdio.js'
import type { Transport } from '../transport/transport.js'
import type { FrameLimits } from '../protocol/frame.js'

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/**
 * `wrap`: a stdio client in front of one server.
 * @returns the server's own exit code
 */
export const wrap = async (flags: SharedFlags, target: Target): Promise<number> => {
  const { limits, audit, servers } = await setUp(flags, target, 'relay')
  const [setup] = servers
  if (setup === undefined) throw new CustomsError('BAD_USAGE', 'which server?')
  const server = upstream(setup, limits)
  const guard = await openGuard(setup, limits, audit, flags.logLevel)
  const session = openSession(guard, stdioClient({ input: process.stdin, output: process.stdout, limits }), server.transport)
  stopOnSignals(session)
  session.start()
  const { exit, failure } = await session.ended
  await guard.close()
  if (failure !== undefined) throw failure
  const startFailure = server.failure()
  if (startFailure !== undefined) throw startFailure
  return exit === undefined ? 0 : exitCodeOf(exit)
}

interface Upstream {
  readonly transport: Transport
  /** Why it could not be started. */
  failure(): CustomsError | undefined
}

const upstream = ({ server }: ServerSetup, limits: FrameLimits): Upstream => {
  if ('url' in server) throw new CustomsError('BAD_USAGE', 'a URL cannot be wrapped yet')
  const { command: [program = '', ...args], env, cwd } = server
  const transport = stdioServer({
    command: [program, ...args], env: Object.fromEntries(env), ...(cwd !== undefined && { cwd }), limits,
  })
  return { transport, failure: () => transport.failure }
}

/** The first signal asks the server to end; each further one is in more of a hurry. */
const stopOnSignals = (session: Session): void => {
  for (const signal of signals) process.on(signal, () => session.stop())
}

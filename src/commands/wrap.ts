import { CustomsError } from '../errors.js'
import { openSession } from '../gateway/open.js'
import type { Session } from '../gateway/session.js'
import { openGuard } from './guard.js'
import { setUp, type ServerSetup } from './setup.js'
import type { SharedFlags, Target } from './flags.js'
import { stdioClient } from '../transport/client-stdio.js'
import { exitCodeOf } from '../transport/process.js'
import { stdioServer, type StdioServer } from '../transport/server-stdio.js'
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
  const guard = openGuard(setup, limits, audit, flags.logLevel, 2)
  const session = openSession(guard, stdioClient({ input: process.stdin, output: process.stdout, limits }), server)
  stopOnSignals(session)
  session.start()
  const { failure } = await session.ended
  await guard.close()
  if (failure !== undefined) throw failure
  if (server.failure !== undefined) throw server.failure
  return server.exit === undefined ? 0 : exitCodeOf(server.exit)
}

const upstream = ({ server }: ServerSetup, limits: FrameLimits): StdioServer => {
  if ('url' in server) throw new CustomsError('BAD_USAGE', 'a URL cannot be wrapped yet')
  const { command: [program = '', ...args], env, cwd } = server
  return stdioServer({
    command: [program, ...args], env: Object.fromEntries(env), ...(cwd !== undefined && { cwd }), limits,
  })
}

/** Ctrl-C asks the server to end; whoever terminates us wants it terminated. Each further signal is in more of a hurry. */
const stopOnSignals = (session: Session): void => {
  for (const signal of signals) {
    process.on(signal, () => {
      if (signal !== 'SIGINT') session.stop()
      session.stop()
    })
  }
}

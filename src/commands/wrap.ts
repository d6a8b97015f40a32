import { openLog } from '../audit/log.js'
import { openAudit } from '../audit/sink.js'
import type { RemoteServer } from '../config/configuration.js'
import { CustomsError } from '../errors.js'
import { openSession, type Guard } from '../gateway/open.js'
import type { Session } from '../gateway/session.js'
import type { FrameLimits } from '../protocol/frame.js'
import { stdioClient } from '../transport/stdio/client.js'
import { exitCodeOf } from '../transport/process/process.js'
import type { StdioServer } from '../transport/stdio/server.js'
import type { SharedFlags, Target } from './flags.js'
import { captureOf } from './capture.js'
import { openGuard, type Witness } from './guard.js'
import { setUp } from './setup.js'
import { processOf, tlsOf } from './upstream.js'

/**
 * `wrap`: a stdio client in front of one server.
 * @param watching told of the session in the place of a capture
 * @returns the exit code of the server's process; 0 for a remote server
 */
export const wrap = async (flags: SharedFlags, target: Target, watching?: Witness): Promise<number> => {
  const { configuration, servers: [setup] } = await setUp(flags, target, 'relay')
  if (setup === undefined) throw new CustomsError('BAD_USAGE', 'which server?')
  const { limits, audit: { file, payloads } } = configuration
  const audit = openAudit({ file, payloads, server: setup.server.name })
  const log = openLog(flags.logLevel)
  const witness = watching ?? (await captureOf(flags, configuration))
  const guard = openGuard(setup, configuration, audit, log, witness)
  try {
    if ('url' in setup.server) {
      await run(await remoteSession(guard, setup.server, limits))
      return 0
    }
    const server = processOf(setup.server, limits)
    await run(openSession(guard, client(limits), () => server))
    return exitOf(server)
  } finally {
    await Promise.all([guard.close(), log.close()])
    audit.close()
    witness?.close()
  }
}

const client = (limits: FrameLimits) => stdioClient({ input: process.stdin, output: process.stdout, limits })

/** The HTTP client is loaded only where it is needed: in front of a process the relay starts sooner without it. */
const remoteSession = async (guard: Guard, server: RemoteServer, limits: FrameLimits): Promise<Session> => {
  const { httpSession } = await import('../transport/upstream/session/session.js')
  const tls = tlsOf(server)
  const { url, headers } = server
  return openSession(guard, client(limits), inputSchemaOf =>
    httpSession({ url: new URL(url), headers, limits, inputSchemaOf, ...(tls && { tls }) }),
  )
}

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** Ctrl-C asks the server to end; whoever terminates us wants it terminated. Each further signal is in more of a hurry. */
const run = async (session: Session): Promise<void> => {
  for (const signal of signals) {
    process.on(signal, () => {
      if (signal !== 'SIGINT') session.stop()
      session.stop()
    })
  }
  session.start()
  const { failure } = await session.ended
  if (failure !== undefined) throw failure
}

const exitOf = ({ failure, exit }: StdioServer): number => {
  if (failure !== undefined) throw failure
  return exit === undefined ? 0 : exitCodeOf(exit)
}

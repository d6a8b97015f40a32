import type { ServerConfiguration } from '../config/configuration.js'
import type { OpenServer } from '../gateway/open.js'
import type { ServerEnd } from '../inspect/link.js'
import type { StderrTail } from '../inspect/stderr-tail.js'
import type { FrameLimits } from '../protocol/frame.js'
import { stdioServer } from '../transport/stdio/server.js'
import { commandLineOf, tlsOf } from './upstream.js'

/** How long a server that was only inspected has to end, in milliseconds; and again after SIGTERM. */
const stopMs = 500

/** Makes connections to the server, each a fresh one. */
export const serverOpener = async (
  server: ServerConfiguration,
  limits: FrameLimits,
  tail: StderrTail,
): Promise<(...known: Parameters<OpenServer>) => ServerEnd> => {
  if ('url' in server) {
    const { httpSession } = await import('../transport/upstream/session/session.js')
    const tls = tlsOf(server)
    const options = { url: new URL(server.url), headers: server.headers, limits, stopMs, ...(tls && { tls }) }
    return inputSchemaOf => httpSession({ ...options, inputSchemaOf })
  }
  const options = { ...commandLineOf(server), limits, stopMs }
  return () => {
    tail.clear()
    return stdioServer({ ...options, stderr: tail.hear })
  }
}

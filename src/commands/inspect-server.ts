import { readFileSync } from 'node:fs'
import type { ServerConfiguration, ServerTls } from '../config/configuration.js'
import { CustomsError } from '../errors.js'
import type { ServerEnd } from '../inspect/link.js'
import type { StderrTail } from '../inspect/stderr-tail.js'
import type { FrameLimits } from '../protocol/frame.js'
import type { HttpTls } from '../transport/http-upstream.js'
import { httpSession } from '../transport/server-http-session.js'
import { stdioServer } from '../transport/server-stdio.js'

/** How long a server that was only inspected has to end, in milliseconds; and again after SIGTERM. */
const stopMs = 500

/** Makes connections to the server, each a fresh one. */
export const serverOpener = (server: ServerConfiguration, limits: FrameLimits, tail: StderrTail): (() => ServerEnd) => {
  if ('url' in server) {
    const tls = server.tls && readTls(server.tls)
    const options = { url: new URL(server.url), headers: server.headers, limits, stopMs, ...(tls && { tls }) }
    // No header is made from arguments: a server that wants them there says so in its answer.
    return () => httpSession({ ...options, inputSchemaOf: () => undefined })
  }
  const { command: [program = '', ...args], env, cwd } = server
  const options = { command: [program, ...args] as const, env: Object.fromEntries(env), limits, stopMs, ...(cwd !== undefined && { cwd }) }
  return () => {
    tail.clear()
    return stdioServer({ ...options, stderr: tail.hear })
  }
}

const readTls = ({ ca, client }: ServerTls): HttpTls => ({
  ...(ca !== undefined && { ca: read(ca) }),
  ...(client && { cert: read(client.cert), key: read(client.key) }),
})

const read = (path: string): Buffer => {
  try {
    return readFileSync(path)
  } catch (cause) {
    throw new CustomsError('BAD_CONFIG', `${path} cannot be read: ${cause instanceof Error ? cause.message : String(cause)}`, { cause })
  }
}

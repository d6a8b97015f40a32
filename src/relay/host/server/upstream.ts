import { processEnvironment } from '#relay/config/target.js'
import { readFileSync } from 'node:fs'
import type { ProcessServer, RemoteServer } from '#relay/config/configuration.js'
import { cannotRead } from '#relay/base/errors.js'
import type { FrameLimits } from '#relay/protocol/frame.js'
import type { CommandLine } from '#relay/transport/process/spawn.js'
import { stdioServer, type StdioServer } from '#relay/transport/stdio/server.js'
import { forwardStderr, LastLines } from '#relay/transport/stdio/stderr.js'
import type { HttpTls } from '#relay/transport/upstream/pool.js'

/**
 * A server process, not yet started. On a terminal it shares our stderr, where the user sees its last lines.
 * @param died called when it ended by itself or could not be started, with its last lines of stderr
 */
export const processOf = (
  server: ProcessServer, limits: FrameLimits, died: (reason: string, lastLines: readonly string[]) => void,
  warn?: (message: string) => void,
): StdioServer => {
  const lastLines = new LastLines()
  return stdioServer({
    ...commandLineOf(server), limits, warn,
    stderr: process.stderr.isTTY ? 'inherit' : stream => forwardStderr(stream, lastLines),
    died: reason => died(reason, lastLines.lines),
  })
}

export const commandLineOf = (server: ProcessServer): CommandLine => {
  const { command, cwd } = server
  return { command, env: processEnvironment(server, process.env), ...(cwd !== undefined && { cwd }) }
}

/** @throws CustomsError BAD_CONFIG for a PEM file that cannot be read */
export const tlsOf = ({ tls }: RemoteServer): HttpTls | undefined =>
  tls && {
    ...(tls.ca !== undefined && { ca: readPem(tls.ca) }),
    ...(tls.client && { cert: readPem(tls.client.cert), key: readPem(tls.client.key) }),
  }

export const readPem = (file: string): Buffer => {
  try {
    return readFileSync(file)
  } catch (cause) {
    throw cannotRead('BAD_CONFIG', file, cause)
  }
}

import { readFileSync } from 'node:fs'
import type { ProcessServer, RemoteServer } from '../config/configuration.js'
import { codeOf, CustomsError } from '../errors.js'
import type { FrameLimits } from '../protocol/frame.js'
import { processEnvironment } from './process-environment.js'
import { stdioServer, type StdioServer } from '../transport/stdio/server.js'
import type { CommandLine } from '../transport/process/spawn.js'
import type { HttpTls } from '../transport/upstream/pool.js'

/** A process of the server's, not yet started. @param died is told when it ends unasked, or never began */
export const processOf = (server: ProcessServer, limits: FrameLimits, died: (reason: string) => void): StdioServer =>
  stdioServer({ ...commandLineOf(server), limits, died })

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
    throw new CustomsError('BAD_CONFIG', `${file}: cannot be read (${codeOf(cause)})`, { cause })
  }
}

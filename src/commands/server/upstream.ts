import { readFileSync } from 'node:fs'
import { withoutCredentials } from '#audit/redaction.js'
import type { ProcessServer, RemoteServer, ServerConfiguration } from '#config/configuration.js'
import type { Environment } from '#platform/machine.js'
import { cannotRead } from '#errors.js'
import { isWindows } from '#platform/machine.js'
import type { FrameLimits } from '#protocol/frame.js'
import type { CommandLine } from '#transport/process/spawn.js'
import { stdioServer, type StdioServer } from '#transport/stdio/server.js'
import { forwardStderr, LastLines } from '#transport/stdio/stderr.js'
import type { HttpTls } from '#transport/upstream/pool.js'

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

/** The variables that the official SDKs pass to a server process. */
const usual = {
  posix: ['HOME', 'LOGNAME', 'PATH', 'SHELL', 'TERM', 'USER'],
  windows: [
    'APPDATA', 'HOMEDRIVE', 'HOMEPATH', 'LOCALAPPDATA', 'PATH', 'PATHEXT', 'PROCESSOR_ARCHITECTURE',
    'PROGRAMFILES', 'SYSTEMDRIVE', 'SYSTEMROOT', 'TEMP',
    'USERNAME', 'USERPROFILE',
  ],
} as const

/**
 * The environment of a server process.
 * @param ours the relay's environment; names are case-insensitive on Windows: `Path` is `PATH`
 */
export const processEnvironment = (
  { env, inheritEnv = true }: Pick<ProcessServer, 'env' | 'inheritEnv'>,
  ours: Environment,
  windows = isWindows(),
): Record<string, string> => {
  const spelt = (name: string) => (windows ? name.toUpperCase() : name)
  const wanted = inheritEnv === true
    ? undefined
    : new Set([...usual[windows ? 'windows' : 'posix'], ...inheritEnv].map(spelt))
  const chosen = new Map<string, [name: string, value: string]>()
  for (const [name, value] of Object.entries(ours)) {
    if (value !== undefined && wanted?.has(spelt(name)) !== false) chosen.set(spelt(name), [name, value])
  }
  for (const [name, value] of env) chosen.set(spelt(name), [name, value])
  return Object.fromEntries(chosen.values())
}

/** A server's command line or URL, without secrets. */
export const targetOf = (server: ServerConfiguration): string =>
  ('command' in server ? withoutCredentials(server.command.join(' ')) : shownUrl(server.url))

export const shownUrl = (url: string): string => {
  const { origin, pathname } = new URL(url)
  return withoutCredentials(origin + pathname)
}

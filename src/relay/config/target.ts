import { isWindows, type Environment } from '#relay/base/platform/machine.js'
import { withoutCredentials } from '#relay/protocol/text/secrets.js'
import type { ProcessServer, ServerConfiguration } from './configuration.js'

/** The server that the arguments name: a command line, or a URL. */
export interface Target {
  readonly command: readonly string[] | undefined
  readonly url: string | undefined
  /** A file of saved answers, which `inspect` reads instead of connecting to a server. */
  readonly file?: string | undefined
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

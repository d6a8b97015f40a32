import type { Environment } from '../config/environment.js'
import type { ProcessServer } from '../config/configuration.js'

/** What the official SDKs hand on to a server that they start. */
const usual = {
  posix: ['HOME', 'LOGNAME', 'PATH', 'SHELL', 'TERM', 'USER'],
  windows: [
    'APPDATA', 'HOMEDRIVE', 'HOMEPATH', 'LOCALAPPDATA', 'PATH', 'PATHEXT', 'PROCESSOR_ARCHITECTURE', 'PROGRAMFILES', 'SYSTEMDRIVE', 'SYSTEMROOT', 'TEMP',
    'USERNAME', 'USERPROFILE',
  ],
} as const

/**
 * The whole environment of a server's process.
 * @param ours of the relay; on Windows its names know no case: `Path` is `PATH`
 */
export const processEnvironment = (
  { env, inheritEnv = true }: Pick<ProcessServer, 'env' | 'inheritEnv'>,
  ours: Environment,
  windows = process.platform === 'win32',
): Record<string, string> => {
  const spelt = (name: string) => (windows ? name.toUpperCase() : name)
  const wanted = inheritEnv === true ? undefined : new Set([...usual[windows ? 'windows' : 'posix'], ...inheritEnv].map(spelt))
  const chosen = new Map<string, [name: string, value: string]>()
  for (const [name, value] of Object.entries(ours)) {
    if (value !== undefined && wanted?.has(spelt(name)) !== false) chosen.set(spelt(name), [name, value])
  }
  for (const [name, value] of env) chosen.set(spelt(name), [name, value])
  return Object.fromEntries(chosen.values())
}

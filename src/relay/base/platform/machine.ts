import { homedir } from 'node:os'
import { posix, win32, type PlatformPath } from 'node:path'

/** `process.env`, or a test's replacement. */
export type Environment = Readonly<Record<string, string | undefined>>

/** The facts about a machine on which paths, programs and signals depend. Tests name other machines. */
export interface Machine {
  readonly platform: NodeJS.Platform
  readonly environment: Environment
  readonly home: string
}

export const thisMachine = (environment: Environment = process.env): Machine =>
  ({ platform: process.platform, environment, home: homedir() })

export const isWindows = (platform: NodeJS.Platform = process.platform): boolean => platform === 'win32'

export const isMac = (platform: NodeJS.Platform = process.platform): boolean => platform === 'darwin'

/** Only Linux shows its processes and sockets as files. @see proc(5) */
export const hasProc = (platform: NodeJS.Platform = process.platform): boolean => platform === 'linux'

export const pathsOf = ({ platform }: Pick<Machine, 'platform'>): PlatformPath =>
  (isWindows(platform) ? win32 : posix)

/**
 * The folder that an environment variable names, or the default below the home folder. A relative path in the
 * variable is ignored (XDG Base Directory Specification).
 */
export const folderNamed = (machine: Machine, variable: string, ...otherwise: string[]): string => {
  const named = machine.environment[variable] ?? ''
  return pathsOf(machine).isAbsolute(named) ? named : pathsOf(machine).join(machine.home, ...otherwise)
}

/**
 * The folder of logs, logins, keys and of the record of `install`: `$XDG_STATE_HOME/mcp-customs`, or else
 * below `~/.local/state` (XDG Base Directory Specification), on Windows too: what a packaged client (MSIX),
 * such as Claude Desktop, and its servers write below `%LOCALAPPDATA%` lands in a folder that other programs
 * do not see.
 */
export const stateFolder = (machine: Machine): string =>
  pathsOf(machine).join(folderNamed(machine, 'XDG_STATE_HOME', '.local', 'state'), 'mcp-customs')

/** Where logs were written on Windows before; a `*` stands for any part of a folder's name. */
export const formerStateFolders = (machine: Machine): readonly string[] => {
  if (!isWindows(machine.platform)) return []
  const local = folderNamed(machine, 'LOCALAPPDATA', 'AppData', 'Local')
  const redirected = ['Packages', '*', 'LocalCache', 'Local', 'mcp-customs']
  return [['mcp-customs'], redirected].map(parts => pathsOf(machine).join(local, ...parts))
}

/**
 * Whether two absolute paths name one file where both exist: on Windows `c:/X` is `C:\x`; file systems of
 * macOS ignore case and Unicode's normal forms.
 */
export const isSamePath = (
  one: string, other: string, platform: NodeJS.Platform = process.platform,
): boolean => comparable(one, platform) === comparable(other, platform)

const comparable = (path: string, platform: NodeJS.Platform): string => {
  if (isWindows(platform)) return win32.normalize(path).replace(/(?<=[^:\\])\\$/, '').toLowerCase()
  return isMac(platform) ? path.normalize('NFC').toLowerCase() : path
}

/** As a file that people of several systems share spells a relative path. */
export const withSlashes = (path: string, platform: NodeJS.Platform = process.platform): string =>
  (isWindows(platform) ? path.replaceAll('\\', '/') : path)

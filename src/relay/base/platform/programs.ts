import { existsSync } from 'node:fs'
import { isMac, isWindows, pathsOf, type Environment } from './machine.js'

type Command = readonly [program: string, ...args: string[]]

/**
 * The full path of a program of Windows. Windows looks a bare name up in the working folder first, which is
 * the project's where a client starts us there: a repository could bring its own `taskkill.exe`.
 */
export const systemProgram = (name: string, environment: Environment): string =>
  pathsOf({ platform: 'win32' }).join(variable(environment, 'SystemRoot') ?? 'C:\\Windows', 'System32', name)

/** Names of variables are case-insensitive on Windows; a copy of the environment has lost that. */
const variable = (environment: Environment, name: string): string | undefined => {
  if (environment[name] !== undefined) return environment[name]
  const found = Object.keys(environment).find(one => one.toLowerCase() === name.toLowerCase())
  return found === undefined ? undefined : environment[found]
}

/** Windows: ends a process and all that it has started. */
export const killTreeCommand = (pid: number, environment: Environment): Command =>
  [systemProgram('taskkill.exe', environment), '/pid', String(pid), '/T', '/F']

/** Opens a URL, its last argument. Undefined where there is no browser, or `BROWSER` is empty or `none`. */
export const browserCommand = (environment: Environment, platform: NodeJS.Platform): Command | undefined => {
  const { BROWSER: browser, DISPLAY: x, WAYLAND_DISPLAY: wayland } = environment
  if (browser !== undefined) {
    const [program = '', ...args] = browser.split(' ')
    return program === '' || program === 'none' ? undefined : [program, ...args]
  }
  if (isMac(platform)) return ['/usr/bin/open']
  if (isWindows(platform)) return [systemProgram('rundll32.exe', environment), 'url.dll,FileProtocolHandler']
  return x === undefined && wayland === undefined ? undefined : ['xdg-open']
}

/**
 * The program of a command line as Windows is to start it: a bare name is looked up in PATH before the
 * working folder, where a repository may have a program of that name. Elsewhere the name stays.
 */
export const programFor = (
  program: string, environment: Environment, platform: NodeJS.Platform = process.platform,
  exists: (path: string) => boolean = existsSync,
): string => {
  if (!isWindows(platform) || /[\\/:]/.test(program)) return program
  const paths = pathsOf({ platform })
  const endings = (variable(environment, 'PATHEXT') ?? '.COM;.EXE;.BAT;.CMD').split(paths.delimiter)
  const names = [...(paths.extname(program) === '' ? [] : [program]), ...endings.map(ending => program + ending)]
  const folders = (variable(environment, 'PATH') ?? '').split(paths.delimiter).filter(folder => folder !== '')
  return folders.flatMap(folder => names.map(name => paths.join(folder, name))).find(exists) ?? program
}

/** Has cross-spawn start the system's own cmd.exe: official SDKs do not hand COMSPEC on. */
export const nameShell = (environment: NodeJS.ProcessEnv): void => {
  environment['COMSPEC'] ??= systemProgram('cmd.exe', environment)
}

/**
 * Signals that ask this process to end. On Windows, Ctrl+Break is SIGBREAK, and the closing of a console
 * SIGHUP; elsewhere SIGBREAK never comes.
 */
export const endingSignals = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGBREAK'] as const

/**
 * How long a server may take to end after its stdin is closed, in milliseconds, and again after SIGTERM.
 * Official clients close our stdin and kill us 4 s later; on Windows, where SIGTERM kills, 2 s later.
 */
export const serverStopMs = (platform: NodeJS.Platform = process.platform): number =>
  (isWindows(platform) ? 800 : 1500)

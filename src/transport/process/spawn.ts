import { spawn as nodeSpawn, type ChildProcess } from 'node:child_process'
import { accessSync, constants as fsConstants, existsSync } from 'node:fs'
import { constants as osConstants } from 'node:os'
import { delimiter, resolve } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import type { Exit } from '../transport.js'

const windows = process.platform === 'win32'

// cross-spawn differs from Node's own spawn on Windows only (npx is a .cmd file there), and is slow to load.
const spawn = windows ? (await import('cross-spawn')).default : nodeSpawn

export interface CommandLine {
  /** The program and its arguments; no shell ever reads them. */
  readonly command: readonly [string, ...string[]]
  /** All of its environment; that of this process when absent. */
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
}

/** A process whose stdin and stdout are pipes of ours. */
export interface ServerChild extends ChildProcess {
  stdin: Writable
  stdout: Readable
}

/**
 * Starts a command as the leader of a process group of its own, so that all it starts can be ended with it.
 * @throws what Node throws for a command line that cannot be one (a NUL inside, too long)
 */
export const spawnGroup = ({ command: [program, ...args], env, cwd }: CommandLine, stderr: 'inherit' | 'ignore' | 'pipe'): ServerChild => {
  const child = spawn(program, args, {
    env: env ?? process.env,
    ...(cwd === undefined ? {} : { cwd }),
    stdio: ['pipe', 'pipe', stderr],
    // On Windows it would open a console window, and there are no groups to gain.
    detached: !windows,
    windowsHide: true,
  })
  if (!isServerChild(child)) throw new Error('it has no pipes')
  return child
}

const isServerChild = (child: ChildProcess): child is ServerChild => child.stdin !== null && child.stdout !== null

/** Whether there is a program of this name to start, as far as can be told without starting it. */
export const canStart = ({ command: [program], env, cwd = process.cwd() }: CommandLine): boolean => {
  // Windows looks in more places, under more names.
  if (windows) return true
  const folders = program.includes('/') ? [cwd] : ((env ?? process.env)['PATH'] ?? '').split(delimiter).map(folder => resolve(cwd, folder))
  return folders.some(folder => {
    try {
      accessSync(resolve(folder, program), fsConstants.X_OK)
      return true
    } catch {
      return false
    }
  })
}

/** Why a command could not be started, in one line. */
export const startFailure = ({ command: [program], cwd }: CommandLine, error: Error): string => {
  const because = (reason: string) => `cannot start ${JSON.stringify(program)}: ${reason}`
  switch ('code' in error ? error.code : undefined) {
    case 'ENOENT':
      if (cwd !== undefined && !existsSync(cwd)) return because(`the working directory ${JSON.stringify(cwd)} does not exist`)
      if (program.includes('/') && existsSync(program)) return because('the interpreter that its first line names was not found')
      return because('command not found')
    case 'EACCES':
      return because('permission denied')
    default:
      return because(error.message)
  }
}

/** What a shell would report: the exit code, or 128 and the signal's number. */
export const exitCodeOf = ({ code, signal }: Exit): number =>
  signal === null ? (code ?? 1) : 128 + osConstants.signals[signal]

/** How the process ended, in words. */
export const describeExit = ({ code, signal }: Exit): string =>
  signal === null ? `the server exited with code ${code ?? 'unknown'}` : `the server was ended by ${signal}`

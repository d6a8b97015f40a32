import { spawn as nodeSpawn, type ChildProcess } from 'node:child_process'
import { accessSync, constants as fsConstants, existsSync } from 'node:fs'
import { constants as osConstants } from 'node:os'
import { delimiter, resolve } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { codeOf } from '#relay/base/errors.js'
import { isWindows } from '#relay/base/platform/machine.js'
import { nameShell, programFor } from '#relay/base/platform/programs.js'
import type { Exit } from '../transport.js'

const windows = isWindows()

// cross-spawn differs from Node's spawn on Windows only (npx is a .cmd file there), and is slow to load.
if (windows) nameShell(process.env)
const spawn = windows ? (await import('cross-spawn')).default : nodeSpawn

export interface CommandLine {
  /** The program and its arguments, started without a shell. */
  readonly command: readonly [string, ...string[]]
  /** The whole environment; that of this process when absent. */
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
}

/** A process whose stdin and stdout are pipes to this one. */
export interface ServerChild extends ChildProcess {
  stdin: Writable
  stdout: Readable
}

/**
 * Starts a command as the leader of a new process group, so that all that it starts can be ended with it.
 * @throws Node's error for an invalid command line (a NUL inside, too long)
 */
export const spawnGroup = (
  { command: [program, ...args], env, cwd }: CommandLine, stderr: 'inherit' | 'ignore' | 'pipe',
): ServerChild => {
  const child = spawn(programFor(program, env ?? process.env), args, {
    env: env ?? process.env,
    ...(cwd === undefined ? {} : { cwd }),
    stdio: ['pipe', 'pipe', stderr],
    // On Windows this would open a console window, and there are no process groups.
    detached: !windows,
    windowsHide: true,
  })
  if (!isServerChild(child)) throw new Error('it has no pipes')
  return child
}

const isServerChild = (child: ChildProcess): child is ServerChild =>
  child.stdin !== null && child.stdout !== null

/** Whether an executable file of this name exists. */
export const canStart = ({ command: [program], env, cwd = process.cwd() }: CommandLine): boolean => {
  // Windows searches further folders and file extensions.
  if (windows) return true
  const path = (env ?? process.env)['PATH'] ?? ''
  const folders = isPath(program) ? [cwd] : path.split(delimiter).map(folder => resolve(cwd, folder))
  return folders.some(folder => {
    try {
      accessSync(resolve(folder, program), fsConstants.X_OK)
      return true
    } catch {
      return false
    }
  })
}

const isPath = (program: string): boolean => program.includes('/') || (windows && program.includes('\\'))

/** Why a command could not be started, in one line. */
export const startFailure = ({ command: [program], cwd }: CommandLine, error: Error): string => {
  const because = (reason: string) => `cannot start ${JSON.stringify(program)}: ${reason}`
  switch (codeOf(error)) {
    case 'ENOENT':
      if (cwd !== undefined && !existsSync(cwd)) {
        return because(`the working directory ${JSON.stringify(cwd)} does not exist`)
      }
      if (!isPath(program)) return because('command not found')
      return because(existsSync(program) ? 'the interpreter that its first line names was not found' : 'there is no such file')
    case 'EACCES':
      return because('permission denied')
    default:
      return because(error.message)
  }
}

/** The exit code as a shell reports it: 128 plus the signal's number after a signal. */
export const exitCodeOf = ({ code, signal }: Exit): number =>
  signal === null ? (code ?? 1) : 128 + osConstants.signals[signal]

/** How the process ended, in words. */
export const describeExit = ({ code, signal }: Exit): string =>
  signal === null ? `the server exited with code ${code ?? 'unknown'}` : `the server was ended by ${signal}`

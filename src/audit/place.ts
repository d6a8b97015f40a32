import { existsSync, mkdirSync, realpathSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, dirname, isAbsolute, join, parse, resolve } from 'node:path'
import { sha256 } from './canonical.js'

/** `$XDG_STATE_HOME/mcp-customs/SERVER.ndjson`, or below `~/.local/state` (XDG Base Directory Specification). */
export const defaultFile = (server: string, environment: Readonly<Record<string, string | undefined>>): string => {
  const { XDG_STATE_HOME: state = '' } = environment
  // The specification: a relative path in the variable counts for nothing.
  const directory = isAbsolute(state) ? state : join(homedir(), '.local', 'state')
  return join(directory, 'mcp-customs', `${fileName(server)}.ndjson`)
}

/** A name for a file, from a name for a server; two servers have two names even where not all of it can be kept. */
const fileName = (server: string): string => {
  const safe = server.replace(/[^A-Za-z0-9._-]/g, '_').replace(/^[.-]+/, '_').slice(0, 64)
  return safe === server && safe !== '' ? safe : `${safe}-${sha256(server).slice(0, 8)}`
}

/** The file's one true path, so that two names of it are not taken for two files; its folder is made where it is missing. */
export const settle = (file: string): string => {
  const folder = dirname(resolve(file))
  makeFolder(folder)
  try {
    return realpathSync(file)
  } catch {
    return join(realpathSync(folder), basename(file))
  }
}

/** Step by step: below a folder like `/proc`, that takes none, Node's own recursion never comes to an end. */
const makeFolder = (folder: string): void => {
  if (existsSync(folder)) return
  makeFolder(dirname(folder))
  try {
    mkdirSync(folder, { mode: 0o700 })
  } catch (error) {
    // Another relay may have been quicker.
    if (!existsSync(folder)) throw error
  }
}

/** `audit.ndjson`, `audit.2.ndjson`, `audit.3.ndjson`, … */
export const numbered = (file: string, number: number): string => {
  if (number === 1) return file
  const { dir, name, ext } = parse(file)
  return join(dir, `${name}.${number}${ext}`)
}

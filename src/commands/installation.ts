import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { delimiter, dirname, isAbsolute, join, resolve } from 'node:path'
import type { Machine } from '../clients/known.js'
import type { Installation } from '../clients/launcher.js'
import type { Knowledge } from '../clients/own-command.js'
import type { Note } from '../clients/record.js'
import { isObject, parseJson } from '../protocol/unmetered.js'
import { relayFlags } from './flags.js'
import { version } from './version.js'

export const thisMachine = (): Machine => ({ platform: process.platform, environment: process.env, home: homedir() })

const temporaryFolders = (): readonly string[] => [tmpdir(), realpath(tmpdir())]

/** @param program the path by which we were started */
export const thisInstallation = (program: string): Installation => ({
  platform: process.platform,
  version: version(),
  file: realpath(program),
  nodes: nodes(),
  temporary: temporaryFolders(),
})

/** A path that leads to the Node that runs us outlives it: `/opt/homebrew/bin/node` an upgrade, `…/Cellar/node/22.1.0` not. */
const nodes = (): readonly string[] => {
  const own = realpath(process.execPath)
  const name = process.platform === 'win32' ? 'node.exe' : 'node'
  const found = (process.env['PATH'] ?? '').split(delimiter).filter(isAbsolute).map(folder => join(folder, name))
  return [...found.filter(path => realpath(path) === own), process.execPath]
}

const realpath = (path: string): string => {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}

/** How our own command is told from others: also by files that were written before and are gone now. */
export const knowledgeOf = (notes: readonly Note[]): Knowledge => ({
  takesValue: option => {
    const flag = Object.hasOwn(relayFlags, option) ? relayFlags[option] : undefined
    return flag && flag.type === 'string'
  },
  isOurs: file => notes.some(({ program }) => program === file) || (file.endsWith('cli.js') && existsSync(file) && packageOf(file) === 'mcp-customs'),
})

/** The name of the package that a program is of: of `…/dist/cli.js`, what is two folders up. */
const packageOf = (program: string) => {
  try {
    const manifest = parseJson(readFileSync(resolve(dirname(realpath(program)), '..', 'package.json'), 'utf8'))
    return isObject(manifest) ? manifest['name'] : undefined
  } catch {
    return undefined
  }
}

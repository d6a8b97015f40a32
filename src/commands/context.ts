import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { delimiter, dirname, isAbsolute, join, resolve } from 'node:path'
import type { Machine } from '../clients/known.js'
import type { Installation } from '../clients/launcher.js'
import type { Knowledge } from '../clients/own-command.js'
import type { Note } from '../clients/record.js'
import { type Style, styleFor, widthOf } from '../inspect/terminal.js'
import { isObject, parseJson } from '../protocol/unmetered.js'
import type { Flag } from './flag.js'
import { relayFlags } from './flags.js'
import type { ListServer } from './inspect/inspection.js'
import { print } from './output.js'
import { version } from './version.js'

/** What lock, install and uninstall work with. */
export interface Context {
  readonly machine: Machine
  readonly installation: Installation
  /** Undefined where there is nobody to ask. */
  readonly dialogue: Dialogue | undefined
  readonly style: Style
  /** Of a line, in characters. */
  readonly width: number
  /** Prints on stdout. */
  readonly print: (text: string) => Promise<void>
  /** Tells what is no part of the report: on stderr. */
  readonly tell: (line: string) => void
  readonly list: ListServer
}

/** This machine, and the person at its terminal. */
export const thisContext = (): Context => ({
  machine: thisMachine(),
  installation: thisInstallation(process.argv[1] ?? ''),
  dialogue: dialogueOf(process.stdin, process.stdout),
  style: styleFor(process.stdout, process.env),
  width: widthOf(process.stdout),
  print,
  tell: line => void process.stderr.write(`mcp-customs: ${line}\n`),
  // What speaks to servers is loaded where one is asked.
  list: async (...wanted) => (await import('./inspect/inspection.js')).listServer(...wanted),
})

/** Questions to the person at the terminal. */
export interface Dialogue {
  /** @returns what was chosen; undefined when the person gave up */
  choose<Choice>(
    question: string,
    choices: readonly { readonly value: Choice; readonly label: string; readonly chosen: boolean }[],
  ): Promise<readonly Choice[] | undefined>
  confirm(question: string): Promise<boolean>
}

/** Undefined where nobody could answer: in a pipe, in a script, in CI. */
export const dialogueOf = (input: NodeJS.ReadStream, output: NodeJS.WriteStream): Dialogue | undefined =>
  input.isTTY && output.isTTY ? terminal : undefined

// The package is loaded where there is somebody to ask.
const prompts = () => import('@clack/prompts')

const terminal: Dialogue = {
  choose: async (question, choices) => {
    const { isCancel, multiselect } = await prompts()
    // By number: the package wants to know whether values of any type are primitive.
    const options = choices.map(({ label }, value) => ({ value, label }))
    const initialValues = choices.flatMap(({ chosen }, index) => (chosen ? [index] : []))
    const chosen = await multiselect({ message: question, options, initialValues, required: false })
    return isCancel(chosen)
      ? undefined
      : choices.filter((_, index) => chosen.includes(index)).map(({ value }) => value)
  },
  confirm: async question => {
    const { confirm } = await prompts()
    return (await confirm({ message: question, initialValue: false })) === true
  },
}

export const thisMachine = (): Machine =>
  ({ platform: process.platform, environment: process.env, home: homedir() })

const temporaryFolders = (): readonly string[] => [tmpdir(), realpath(tmpdir())]

/** @param program the path by which we were started */
export const thisInstallation = (program: string): Installation => ({
  platform: process.platform,
  version: version(),
  file: realpath(program),
  nodes: nodes(),
  temporary: temporaryFolders(),
})

/**
 * A path that leads to the Node that runs us outlives it: `/opt/homebrew/bin/node` an upgrade,
 * `…/Cellar/node/22.1.0` not.
 */
const nodes = (): readonly string[] => {
  const own = realpath(process.execPath)
  const name = process.platform === 'win32' ? 'node.exe' : 'node'
  const found =
    (process.env['PATH'] ?? '').split(delimiter).filter(isAbsolute).map(folder => join(folder, name))
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
    const flags: ReadonlyMap<string, Flag> = new Map(Object.entries(relayFlags))
    const flag = flags.get(option)
    return flag && flag.type === 'string'
  },
  isOurs: file => notes.some(({ program }) => program === file) ||
    (file.endsWith('cli.js') && existsSync(file) && packageOf(file) === 'mcp-customs'),
})

/** The name of the package that a program is of: of `…/dist/cli.js`, what is two folders up. */
const packageOf = (program: string) => {
  try {
    const manifest =
      parseJson(readFileSync(resolve(dirname(realpath(program)), '..', 'package.json'), 'utf8'))
    return isObject(manifest) ? manifest['name'] : undefined
  } catch {
    return undefined
  }
}

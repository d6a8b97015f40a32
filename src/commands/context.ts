import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { basename, delimiter, dirname, isAbsolute, join, resolve } from 'node:path'
import { isNpxOfUs, sameWords, type Installation, type Recognizer } from '#clients/own-command.js'
import type { Note } from '#clients/record.js'
import { type Style, styleFor, widthOf } from '#inspect/terminal.js'
import { isWindows, thisMachine, type Machine } from '#platform/machine.js'
import { isObject, member, parseJson } from '#protocol/unmetered.js'
import type { Flag } from './flag.js'
import { relayFlags } from './flags.js'
import type { ListServer } from './inspect/inspection.js'
import { print } from './output.js'
import { version } from './version.js'

/** The environment of lock, install and uninstall; tests replace it. */
export interface Context {
  readonly machine: Machine
  readonly installation: Installation
  /** Undefined without a terminal. */
  readonly dialogue: Dialogue | undefined
  readonly style: Style
  /** Width of a line, in characters. */
  readonly width: number
  /** Writes the report to stdout. */
  readonly print: (text: string) => Promise<void>
  /** Writes a remark to stderr. */
  readonly tell: (line: string) => void
  readonly list: ListServer
  /** The version that a command line of ours prints, or why it prints none. */
  readonly versionOf: (words: readonly string[]) => Promise<
    { readonly version: string } | { readonly failure: string }
  >
  /** The newest version of a package, if its registry tells one. */
  readonly newestVersion: (registry: 'npm' | 'PyPI', name: string) => Promise<string | undefined>
}

/** This machine, and the person at its terminal. */
export const thisContext = (): Context => ({
  machine: thisMachine(),
  installation: thisInstallation(),
  dialogue: dialogueOf(process.stdin, process.stdout),
  style: styleFor(process.stdout, process.env),
  width: widthOf(process.stdout),
  print,
  tell: line => void process.stderr.write(`mcp-customs: ${line}\n`),
  // Loaded on demand: it brings the transports along.
  list: async (...wanted) => (await import('./inspect/inspection.js')).listServer(...wanted),
  versionOf: async ([program = '', ...words]) => {
    const { run } = await import('#transport/process/run.js')
    // Clients start servers outside any project, where npx may find another package of this name.
    const ran = await run({ command: [program, ...words, '--version'], cwd: homedir() }, startMs)
    return 'failure' in ran ? ran : { version: ran.stdout.trim() }
  },
  newestVersion: async (...wanted) =>
    (await import('./install/registry.js')).newestVersion(...wanted, thisMachine()),
})

/** How long our own command may take to start, in milliseconds: npx may have to fetch it. */
const startMs = 30_000

/** Questions to the person at the terminal. */
export interface Dialogue {
  /** @returns what was chosen; undefined when the person gave up */
  choose<Choice>(
    question: string,
    choices: readonly { readonly value: Choice; readonly label: string; readonly chosen: boolean }[],
  ): Promise<readonly Choice[] | undefined>
  confirm(question: string): Promise<boolean>
}

/** Undefined where nobody can answer: in a pipe, a script or CI. */
const dialogueOf = (input: NodeJS.ReadStream, output: NodeJS.WriteStream): Dialogue | undefined =>
  input.isTTY && output.isTTY ? terminal : undefined

const prompts = () => import('@clack/prompts')

const terminal: Dialogue = {
  choose: async (question, choices) => {
    const { isCancel, multiselect } = await prompts()
    // Options are numbered: clack's types need a primitive value.
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

const temporaryFolders = (): readonly string[] => [tmpdir(), realpath(tmpdir())]

export const thisInstallation = (): Installation => ({
  platform: thisMachine().platform,
  version: version(),
  // The path by which we were started.
  file: realpath(process.argv[1] ?? ''),
  published: isPublished(realpath(process.argv[1] ?? '')),
  nodes: nodes(),
  temporary: temporaryFolders(),
})

/**
 * Paths in PATH that lead to the running Node come first, because they survive an upgrade:
 * `/opt/homebrew/bin/node` does, `…/Cellar/node/22.1.0` does not.
 */
const nodes = (): readonly string[] => {
  const own = realpath(process.execPath)
  const name = isWindows() ? 'node.exe' : 'node'
  const found = foldersOfPath().map(folder => join(folder, name))
  return [...found.filter(path => realpath(path) === own), process.execPath]
}

const foldersOfPath = (): readonly string[] => (process.env['PATH'] ?? '').split(delimiter).filter(isAbsolute)

const realpath = (path: string): string => {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}

/** Whether words start us: `install` has written them, or they start this very program. */
export const recognizerOf = (notes: readonly Note[], installation: Installation): Recognizer => ({
  takesValue: option => {
    const flags: ReadonlyMap<string, Flag> = new Map(Object.entries(relayFlags))
    const flag = flags.get(option)
    return flag && flag.type === 'string'
  },
  isOurs: words => startsThis(words, installation) ||
    notes.some(note => note.words.length > 0 && sameWords(note.words, words)),
})

/**
 * No option of Node.js is allowed, since some of them run other code first. A relative path is the client's
 * folder's, so a repository could put its own program there.
 */
const startsThis = (words: readonly string[], { file, nodes, published }: Installation): boolean => {
  const isThis = (path: string) => isAbsolute(path) && realpath(path) === file
  const [program = '', argument = ''] = words
  if (words.length === 1) return (program === 'mcp-customs' ? inPath(program) : [program]).some(isThis)
  if (words.length === 2) return ['node', ...nodes].includes(program) && isThis(argument)
  return published && isNpxOfUs(words)
}

/** The program that a name starts. */
const inPath = (name: string): readonly string[] =>
  foldersOfPath().map(folder => join(folder, name)).filter(path => existsSync(path)).slice(0, 1)

/**
 * Whether a package came from the registry of npm under our name. npm writes into `node_modules` from where
 * each package came, but not for packages that are installed globally. A copy of a folder, an archive or a
 * repository, and a package of another name, are others.
 */
export const isPublished = (file: string): boolean => {
  const folder = resolve(dirname(file), '..')
  try {
    const lock = parseJson(readFileSync(join(folder, '..', '.package-lock.json'), 'utf8'))
    const packages = isObject(lock) ? member(lock, 'packages') : undefined
    const own = isObject(packages) ? member(packages, `node_modules/${basename(folder)}`) : undefined
    const resolved = isObject(own) ? member(own, 'resolved') : undefined
    return resolved === `https://registry.npmjs.org/mcp-customs/-/mcp-customs-${version()}.tgz`
  } catch {
    return false
  }
}

import type { Target } from './target.js'

/** A program that runs another program or a script. */
interface Launcher {
  /** Words that may precede the program. */
  readonly verbs?: RegExp
  /** Options whose value is the next word. */
  readonly valued?: RegExp
  /** Options whose value is the program. */
  readonly naming?: RegExp
  /** Options whose value is source code, which has no name. */
  readonly code?: RegExp
  /** Options whose value is the working directory. */
  readonly folder?: RegExp
  /** Words without a slash are files too, not commands. */
  readonly isInterpreter?: true
}

const options = (...names: readonly string[]): RegExp =>
  new RegExp(`^(?:${names.map(name => (name.length === 1 ? `-${name}` : `--${name}`)).join('|')})$`)

const packages: Launcher = {
  verbs: /^(?:exec|x|dlx|run|tool)$/,
  valued: options(
    'w', 'workspace', 'registry', 'prefix', 'cache', 'userconfig', 'node-options', 'with', 'with-editable',
    'python', 'project', 'index-url', 'env-file',
  ),
  naming: /^(?:-p|--package|--from|--spec)$/,
  code: /^(?:-c|--call)$/,
  folder: /^--(?:directory|dir|cwd)$/,
}
/** Its `-p` names the version of Python, and not a package. */
const uv: Launcher = {
  ...packages, naming: /^(?:-m|--module|--from)$/,
  valued: new RegExp(`^-p$|${packages.valued?.source ?? ''}`),
}
const javascript: Launcher = {
  isInterpreter: true, folder: /^--cwd$/,
  valued: /^(?:-r|-C|--(?:require|import|loader|conditions|env-file|config|import-map))$/,
  code: /^(?:-e|-p|-pe|--eval|--print)$/,
}
const python: Launcher = { isInterpreter: true, valued: /^-[WX]$/, naming: /^-[A-Za-z]*m$/, code: /^-c$/ }
const shell: Launcher = { isInterpreter: true, verbs: /^\/[a-z]$/i, code: /^-[a-z]*c$/ }
/** Nearly all options of docker take a value. */
const containers: Launcher = {
  verbs: /^(?:container|run)$/,
  valued: new RegExp(
    '^(?!-[itdP]+$|--(?:rm|init|interactive|tty|detach|privileged|read-only|publish-all|quiet)$)-[^=]+$',
  ),
}

const launchers: ReadonlyMap<string, Launcher> = new Map<string, Launcher>([
  ['env', { verbs: /^[A-Za-z_]\w*=/, valued: /^(?:-u|--unset)$/, folder: /^(?:-C|--chdir)$/ }],
  ...['cmd', 'sh', 'bash', 'zsh'].map(name => [name, shell] as const),
  ...['npx', 'npm', 'pnpm', 'yarn', 'bunx', 'uvx', 'pipx', 'poetry', 'pdm', 'pipenv', 'hatch'].map(
    name => [name, packages] as const,
  ),
  ['uv', uv],
  // The command lines of the Python SDK and of FastMCP.
  ...['mcp', 'fastmcp'].map(name => [name, { isInterpreter: true, verbs: /^(?:run|dev)$/ }] as const),
  ['go', { isInterpreter: true, verbs: /^run$/ }],
  ['timeout', { verbs: /^\d+[smhd]?$/, valued: /^-[ks]$/ }],
  ...['nice', 'ionice', 'stdbuf', 'xvfb-run', 'sudo'].map(name => [name, { valued: /^-[ncpu]$/ }] as const),
  ...['node', 'tsx', 'ts-node'].map(name => [name, javascript] as const),
  ...['bun', 'deno'].map(name => [name, { ...javascript, verbs: /^(?:run|x)$/ }] as const),
  ...['python', 'python3', 'py'].map(name => [name, python] as const),
  ...['docker', 'podman'].map(name => [name, containers] as const),
  ['java', { isInterpreter: true, valued: /^-(?:cp|classpath)$/, naming: /^-jar$/ }],
  ...['ruby', 'perl', 'php', 'dotnet'].map(name => [name, { isInterpreter: true, code: /^-[er]$/ }] as const),
])

/** The program behind launchers. */
export interface ServerSubject {
  /** A package, a script, an image or a program. */
  readonly word: string
  /** The launcher's base name, and its verb. */
  readonly launcher?: string
  readonly verb?: string | undefined
  /** The option that names the program. */
  readonly option?: string
  /** Working directory, relative to the launcher's. */
  readonly folder?: string | undefined
  readonly isInterpreted?: boolean
}

/** Finds the program behind launchers, their options, and assignments. */
export const subjectOf = ([program = '', ...rest]: readonly string[]): ServerSubject => {
  const known = launcherOf(program)
  if (known === undefined) return { word: program }
  const { name, launcher: { verbs, valued, naming, code, folder, isInterpreter } } = known
  let found: Omit<ServerSubject, 'word'> = { launcher: name, isInterpreted: isInterpreter === true }
  for (let at = 0; at < rest.length; at++) {
    const word = rest[at] ?? ''
    const [, option = word, inline] = /^(--[a-z-]+)=(.*)$/s.exec(word) ?? []
    const value = inline ?? rest[at + 1] ?? ''
    if (code?.test(word)) break
    if (naming?.test(option)) return { ...found, word: value, option }
    if (folder?.test(option)) found = { ...found, folder: value }
    if (folder?.test(word) || valued?.test(word)) at += 1
    else if (verbs?.test(word)) found = { verb: word, ...found }
    else if (!word.startsWith('-')) return { ...found, ...subjectOf(rest.slice(at)) }
  }
  return { word: program }
}

const launcherOf = (program: string): { readonly name: string; readonly launcher: Launcher } | undefined => {
  const name = baseName(program).toLowerCase()
  // python3.12
  for (const one of [name, name.replace(/(?<![\d.])[\d.]+$/, '')]) {
    const launcher = launchers.get(one)
    if (launcher !== undefined) return { name: one, launcher }
  }
  return undefined
}

export const isLauncher = (program: string): boolean => launcherOf(program) !== undefined

/** The last part of a path, package, image or repository, without version and extension. */
const baseName = (path: string): string =>
  (path.split(/[\\/]/).at(-1) ?? '').replace(/(?!^)(?:[@:[]|[=~<>!]=).*/s, '')
    .replace(/\.(?:[cm]?[jt]sx?|py|exe|cmd|bat|sh|jar|git)$/i, '')

/**
 * Name of a server that the operator did not name: its host, package, image, script or program, safe as a
 * file name and metric label; `server` when none is usable.
 */
export const serverNameOf = ({ url, command = [] }: Target): string =>
  plain(url === undefined ? nameIn(subjectOf(command).word) : hostOf(url))

const plain = (name: string): string => name.replace(/[^A-Za-z0-9_.-]+/g, '-').replace(/^[-_.]+/, '')
  .slice(0, 64).replace(/(?<![-_.])[-_.]+$/, '') || 'server'

const hostOf = (url: string): string => (URL.canParse(url) ? new URL(url).hostname : '')

/** False for a name that many projects use, such as `index`. */
const isSpecific = (name: string): boolean =>
  !/^(?:index|main|__main__|bin|dist|build|out|lib|src|start|run|\.{0,2})$/i.test(name)

/** Generic names, which get their owner as a prefix. */
const vague = /^(?:server|mcp|mcp[-_]server|server[-_]mcp|cli|app)$/i

const nameIn = (word: string): string => {
  const path = word.replaceAll('\\', '/')
  const installed = /^.*(?:^|\/)node_modules\/(?!\.bin\/)((?:@[^/]+\/)?[^/]+)/s.exec(path)?.[1]
  const [name = baseName(path), owner] =
    [baseName(installed ?? path), ...(installed ?? path).split('/').slice(0, -1).reverse()].filter(isSpecific)
  return vague.test(name) && owner !== undefined ? `${owner.replace(/^@/, '')}-${name}` : name
}

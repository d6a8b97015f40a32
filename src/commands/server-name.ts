import type { Target } from './flags.js'

/**
 * What the audit log, metrics and messages call a server that nobody named: its host, package, image, script or program. Plain enough
 * for a file's name and a metric's label; where the words tell nothing, `server`.
 */
export const nameOf = ({ url, command = [] }: Target): string => plain(url === undefined ? nameIn(subjectOf(command)) : hostOf(url))

const plain = (name: string): string => name.replace(/[^A-Za-z0-9_.-]+/g, '-').replace(/^[-_.]+/, '').slice(0, 64).replace(/[-_.]+$/, '') || 'server'

const hostOf = (url: string): string => (URL.canParse(url) ? new URL(url).hostname : '')

/** A program that runs another one, or a script. */
interface Launcher {
  /** Words that may stand before what is run. */
  readonly verbs?: RegExp
  /** Options whose value is the next word. */
  readonly valued?: RegExp
  /** Options whose value is what is run. */
  readonly naming?: RegExp
  /** Options whose value is a program as text, which has no name. */
  readonly code?: RegExp
}

const packages: Launcher = {
  verbs: /^(?:exec|x|dlx|run|tool)$/,
  valued: /^(?:-w|--(?:workspace|registry|prefix|cache|userconfig|node-options|with|with-editable|python|project|directory|index-url|env-file))$/,
  naming: /^(?:-p|--package|--from|--spec)$/,
  code: /^(?:-c|--call)$/,
}
const javascript: Launcher = { verbs: /^run$/, valued: /^(?:-r|-C|--(?:require|import|loader|conditions|env-file|config|import-map))$/, code: /^(?:-e|-p|-pe|--eval|--print)$/ }
const python: Launcher = { valued: /^-[WX]$/, naming: /^-m$/, code: /^-c$/ }
const shell: Launcher = { verbs: /^\/[a-z]$/i, code: /^-[a-z]*c$/ }
/** Nearly all of their options have a value. */
const containers: Launcher = {
  verbs: /^(?:container|run)$/,
  valued: /^(?!-[itdP]+$|--(?:rm|init|interactive|tty|detach|privileged|read-only|publish-all|quiet)$)-[^=]+$/,
}

const launchers: ReadonlyMap<string, Launcher> = new Map<string, Launcher>([
  ['env', { verbs: /^[A-Za-z_]\w*=/, valued: /^(?:-u|-C|--unset|--chdir)$/ }],
  ...['cmd', 'sh', 'bash', 'zsh'].map(name => [name, shell] as const),
  ...['npx', 'npm', 'pnpm', 'yarn', 'bunx', 'uv', 'uvx', 'pipx'].map(name => [name, packages] as const),
  ...['node', 'bun', 'deno', 'tsx', 'ts-node'].map(name => [name, javascript] as const),
  ...['python', 'python3', 'py'].map(name => [name, python] as const),
  ...['docker', 'podman'].map(name => [name, containers] as const),
  ['java', { valued: /^-(?:cp|classpath)$/, naming: /^-jar$/ }],
])

/** The word that says what is run: behind launchers, their options, and assignments. */
const subjectOf = ([program = '', ...rest]: readonly string[]): string => {
  const launcher = launchers.get(lastName(program).toLowerCase())
  if (launcher === undefined) return program
  const { verbs, valued, naming, code } = launcher
  for (let at = 0; at < rest.length; at++) {
    const word = rest[at] ?? ''
    const [, option, value] = /^(--[a-z-]+)=(.*)$/s.exec(word) ?? []
    if (option !== undefined && naming?.test(option)) return value ?? ''
    if (code?.test(word)) break
    if (naming?.test(word)) return rest[at + 1] ?? ''
    if (valued?.test(word)) at += 1
    else if (!word.startsWith('-') && !verbs?.test(word)) return subjectOf(rest.slice(at))
  }
  return program
}

/** Of files and folders that every project has. */
const telling = (name: string): boolean => !/^(?:index|main|__main__|bin|dist|build|out|lib|src|start|run|\.{0,2})$/i.test(name)

/** Of a server like any other: what it belongs to is said as well. */
const vague = /^(?:server|mcp|mcp[-_]server|server[-_]mcp|cli|app)$/i

const nameIn = (word: string): string => {
  const path = word.replaceAll('\\', '/')
  const installed = /.*(?:^|\/)node_modules\/(?!\.bin\/)((?:@[^/]+\/)?[^/]+)/s.exec(path)?.[1]
  const [name = lastName(path), owner] = [lastName(installed ?? path), ...(installed ?? path).split('/').slice(0, -1).reverse()].filter(telling)
  return vague.test(name) && owner !== undefined ? `${owner.replace(/^@/, '')}-${name}` : name
}

/** Of a path, a package, an image or a repository: without folder, version and ending. */
const lastName = (path: string): string =>
  (path.split(/[\\/]/).at(-1) ?? '').replace(/(?!^)(?:[@:[]|[=~<>!]=).*$/s, '').replace(/\.(?:[cm]?[jt]sx?|py|exe|cmd|bat|sh|jar|git)$/i, '')

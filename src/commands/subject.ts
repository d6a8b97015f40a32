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

/** What a command line runs. */
export interface Subject {
  /** A package, a script, an image or a program. */
  readonly word: string
  /** The launcher that is told to run it, by its plain name, and the verb that it was given. */
  readonly launcher?: string
  readonly verb?: string | undefined
}

/** Behind launchers, their options, and assignments. */
export const subjectOf = ([program = '', ...rest]: readonly string[]): Subject => {
  const name = baseName(program).toLowerCase()
  const launcher = launchers.get(name)
  if (launcher === undefined) return { word: program }
  const { verbs, valued, naming, code } = launcher
  let verb: string | undefined
  for (let at = 0; at < rest.length; at++) {
    const word = rest[at] ?? ''
    const [, option, value] = /^(--[a-z-]+)=(.*)$/s.exec(word) ?? []
    if (option !== undefined && naming?.test(option)) return { word: value ?? '', launcher: name, verb }
    if (code?.test(word)) break
    if (naming?.test(word)) return { word: rest[at + 1] ?? '', launcher: name, verb }
    if (valued?.test(word)) at += 1
    else if (verbs?.test(word)) verb ??= word
    else if (!word.startsWith('-')) return { launcher: name, verb, ...subjectOf(rest.slice(at)) }
  }
  return { word: program }
}

/** Of a path, a package, an image or a repository: without folder, version and ending. */
export const baseName = (path: string): string =>
  (path.split(/[\\/]/).at(-1) ?? '').replace(/(?!^)(?:[@:[]|[=~<>!]=).*$/s, '').replace(/\.(?:[cm]?[jt]sx?|py|exe|cmd|bat|sh|jar|git)$/i, '')

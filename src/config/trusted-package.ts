/** Options that change nothing of what is run. Any other may: the registry, the package, the folder, the shell. */
const harmless: ReadonlySet<string> = new Set(['-y', '--yes', '-q', '--quiet', '--silent'])

/**
 * Whether a command runs exactly this package by npx or `npm exec`, and nothing else.
 * @param spec `NAME@VERSION`, the version exact
 * @param environment what the operator adds to the process's
 */
export const startsPackage = (
  command: readonly string[],
  spec: string,
  environment: ReadonlyMap<string, string> = new Map(),
): boolean => {
  // npm reads its options from the environment too, and node loads code that NODE_OPTIONS names.
  if ([...environment.keys()].some(name => /^(npm_|node_options$)/i.test(name))) return false
  const run = readRun(command)
  if (run === undefined) return false
  const [first] = run.words
  // With --package, the first word is looked up among all commands: only the package's own is sure to come from it.
  return run.packages.length === 0 ? first === spec : run.packages.every(named => named === spec) && first === commandOf(spec)
}

interface Run {
  readonly packages: readonly string[]
  /** What follows the options. */
  readonly words: readonly string[]
}

/** Undefined when it is no such command, or holds an option that may change what is run. */
const readRun = ([program, ...rest]: readonly string[]): Run | undefined => {
  // A path to npx may lead anywhere: it can be trusted as a `command`.
  if (program === 'npx' || program === 'npx.cmd') return readOptions(rest, 'npx')
  if (program !== 'npm' && program !== 'npm.cmd') return undefined
  return rest[0] === 'exec' || rest[0] === 'x' ? readOptions(rest.slice(1), 'npm') : undefined
}

/**
 * npx leaves everything after the first plain word alone; `npm exec` takes options from anywhere before `--`, and knows
 * another `-p`.
 */
const readOptions = (words: readonly string[], program: 'npx' | 'npm'): Run | undefined => {
  const packages: string[] = []
  const plain: string[] = []
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? ''
    if (word === '--') return { packages, words: [...plain, ...words.slice(at + 1)] }
    if (word === '--package' || (word === '-p' && program === 'npx')) {
      packages.push(words[++at] ?? '')
    } else if (word.startsWith('--package=')) {
      packages.push(word.slice('--package='.length))
    } else if (!word.startsWith('-')) {
      if (program === 'npx') return { packages, words: words.slice(at) }
      plain.push(word)
    } else if (!harmless.has(word)) {
      return undefined
    }
  }
  return { packages, words: plain }
}

/** Of `NAME@VERSION`. */
export const partsOf = (spec: string): { readonly name: string; readonly version: string } => {
  const at = spec.lastIndexOf('@')
  return { name: spec.slice(0, at), version: spec.slice(at + 1) }
}

/** `@scope/name@1.2.3` → `name` */
const commandOf = (spec: string): string => partsOf(spec).name.replace(/^@[^/]*\//, '')

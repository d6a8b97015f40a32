/** The command that a client runs to start us. */
export interface Launcher {
  /** A program and its first arguments; `wrap` comes next. */
  readonly words: readonly string[]
  /** Why this command, for the preview. */
  readonly reason: string
}

export interface Installation {
  readonly platform: NodeJS.Platform
  readonly version: string
  /** Our own program's path, without symbolic links. */
  readonly file: string
  /** Paths of the Node.js that runs us, in order of preference. */
  readonly nodes: readonly string[]
  /** Temporary folders. */
  readonly temporary: readonly string[]
}

/**
 * The launcher that is written into a client's file. It needs no global installation: it has the absolute
 * paths of Node.js and of mcp-customs, or npx when such a path is temporary or the file is shared.
 * @param shared the file is also read on other machines, which do not have these paths
 */
export const launcherFor = (
  { platform, version, file, nodes, temporary }: Installation, shared: boolean,
): Launcher => {
  const npx = ['npx', '-y', `mcp-customs@${version}`]
  // On Windows clients cannot start `npx.cmd` without a shell.
  const words = platform === 'win32' ? ['cmd', '/c', ...npx] : npx
  const stays = (path: string) => !isPassing(path, temporary)
  const node = nodes.find(stays)
  if (shared) return { words, reason: 'the file is shared, and paths of this machine mean nothing on others' }
  if (!stays(file)) {
    return { words, reason: `this copy is in a place that is emptied now and then (${file})` }
  }
  if (node === undefined) {
    return { words, reason: 'the Node.js that runs this is in a place that is emptied now and then' }
  }
  return { words: [node, file], reason: 'Node.js and this copy of mcp-customs, where they are now' }
}

/** The command that starts this copy now, wherever it is. */
export const ownWords = ({ file, nodes: [node = 'node'] }: Installation): readonly string[] => [node, file]

/** Whether a path is in a temporary folder, or in a cache of npx or another package runner. */
export const isPassing = (path: string, temporary: readonly string[]): boolean => {
  const plain = slashed(path)
  const isIn = (folder: string) => plain.startsWith(`${slashed(folder).replace(/\/$/, '')}/`)
  return caches.test(plain) || [...alwaysTemporary, ...temporary].some(isIn)
}

const slashed = (path: string): string => path.replaceAll('\\', '/').toLowerCase()

const caches = new RegExp('/(?:_npx|_cacache|fnm_multishells|dlx|dlx-[^/]*|bunx-[^/]*|xfs-[^/]*|install/cache'
  + '|\\.yarn/(?:cache|berry|\\$\\$virtual))/')
const alwaysTemporary = [
  '/tmp', '/private/tmp', '/var/tmp', '/var/folders', '/private/var/folders', '/run', '/dev/shm',
]

/**
 * The first character that `cmd /c` would change or act upon, for a command that starts `cmd`. Only the
 * character is returned, because the word around it may be a secret.
 */
export const cmdMetacharacter = (words: readonly string[]): string | undefined =>
  /(?:^|[\\/])cmd(?:\.exe)?$/i.test(words[0] ?? '') ? /[&|<>^%"!]/.exec(words.join(' '))?.[0] : undefined

/** The parts of a command line that starts us in front of a server. */
export interface OwnCommand {
  /** The words that start us, including `wrap`. */
  readonly launcher: readonly string[]
  readonly options: readonly string[]
  /** The index, among all words, of the first word of the server's command, or of the server's URL. */
  readonly target: number
  readonly remote: boolean
  /** Set when the server was wrapped twice: our command inside ours. Its indexes are also among all words. */
  readonly inner?: OwnCommand
}

/** Recognizes our program, and the options of `wrap`, in a command line. */
export interface Recognizer {
  /** Whether an option of `wrap` is followed by its value; undefined for an unknown option. */
  readonly takesValue: (option: string) => boolean | undefined
  /** Whether a file is our program, also in a folder that is not named mcp-customs. */
  readonly isOurs: (file: string) => boolean
}

/**
 * Reads a command line that starts us: by npx or another package runner, by a global name or by a path,
 * directly or behind `cmd /c`.
 * @param words the program and its arguments
 * @returns undefined for any other command line
 */
export const readOwnCommand = (words: readonly string[], recognizer: Recognizer): OwnCommand | undefined =>
  readFrom(words, 0, recognizer)

const readFrom = (words: readonly string[], from: number, recognizer: Recognizer): OwnCommand | undefined => {
  const start = afterProgram(words, afterShell(words, from), recognizer.isOurs)
  if (start === undefined || words[start] !== 'wrap') return undefined
  const target = targetOf(words, start + 1, recognizer.takesValue)
  if (target === undefined) return undefined
  const inner = readFrom(words, target, recognizer)
  const optionsEnd = words[target - 1] === '--' ? target - 1 : target
  return {
    launcher: words.slice(from, start + 1),
    options: words.slice(start + 1, optionsEnd),
    target,
    remote: optionsEnd === target && isUrl(words[target] ?? ''),
    ...(inner && { inner }),
  }
}

/** The last of our commands in a command line: the one directly in front of the server. */
export const innermost = (own: OwnCommand): OwnCommand => (own.inner ? innermost(own.inner) : own)

/** True when a shell or another program starts us: `install` cannot tell its words from ours. */
export const startsUsIndirectly = (words: readonly string[], { isOurs }: Recognizer): boolean =>
  words.some((word, index) =>
    (words[index + 1] === 'wrap' && isUs(word, isOurs)) || namesUs(word))

/** In two steps: one expression would search the rest of the text once for each of our names in it. */
const namesUs = (word: string): boolean => {
  const at = word.search(/\bmcp-customs\b/)
  return at >= 0 && /\swrap\s/.test(word.slice(at))
}

const isUs = (word: string, isOurs: Recognizer['isOurs']): boolean =>
  isOurPackage(word) || isOurFile(word, isOurs)

const baseOf = (path = ''): string =>
  (path.split(/[\\/]/).pop() ?? '').toLowerCase().replace(/\.(?:exe|cmd|ps1|bat)$/, '')

const afterShell = (words: readonly string[], from: number): number => {
  if (baseOf(words[from]) !== 'cmd') return from
  const program = words.findIndex((word, index) => index > from && !/^\/[a-z]$/i.test(word))
  return program < 0 ? words.length : program
}

/** @returns the index after our program */
const afterProgram = (
  words: readonly string[], at: number, isOurs: Recognizer['isOurs'],
): number | undefined => {
  const program = baseOf(words[at])
  if (program === 'mcp-customs') return at + 1
  const next = words[at + 1] ?? ''
  if (['npx', 'pnpx', 'bunx'].includes(program)) return afterPackage(words, at + 1)
  if (['npm', 'pnpm', 'yarn', 'bun'].includes(program) && ['exec', 'x', 'dlx'].includes(next)) {
    return afterPackage(words, at + 2)
  }
  if (!['node', 'bun', 'deno'].includes(program)) return undefined
  const file = words.findIndex((word, index) => index > at && !word.startsWith('-'))
  return file > 0 && isOurFile(words[file] ?? '', isOurs) ? file + 1 : undefined
}

const isOurFile = (file: string, isOurs: Recognizer['isOurs']): boolean =>
  baseOf(file) === 'mcp-customs' || /[\\/]mcp-customs[\\/]dist[\\/]cli\.js$/i.test(file) || isOurs(file)

/** Whether a word is our package, as a name, a repository or an archive, with or without a version. */
const isOurPackage = (word: string): boolean =>
  /(?:^|[\\/:])mcp-customs(?:[@#][^\\/]*|-[\d.]+\.tgz)?$/.test(word)

/** @returns the index after the runner's options and our package or its command */
const afterPackage = (words: readonly string[], from: number): number | undefined => {
  for (let at = from; at < words.length; at++) {
    const word = words[at] ?? ''
    if (word === '--package' || word === '-p') at++
    else if (!word.startsWith('-')) return isOurPackage(word) ? at + 1 : undefined
  }
  return undefined
}

/** The index after the options of `wrap`: after `--`, at a URL, or at the first word that is no option. */
const targetOf = (
  words: readonly string[], from: number, takesValue: Recognizer['takesValue'],
): number | undefined => {
  let at = from
  while (at < words.length) {
    const word = words[at] ?? ''
    if (word === '--') return at + 1 < words.length ? at + 1 : undefined
    if (!word.startsWith('--')) return at
    const known = word.includes('=') ? false : takesValue(word.slice(2))
    // Another version of mcp-customs has this option, and whether it takes a value is unknown. So the
    // server's command is searched for after `--`.
    if (known === undefined) return afterDashes(words, at)
    at += known ? 2 : 1
  }
  return undefined
}

const afterDashes = (words: readonly string[], from: number): number | undefined => {
  const at = words.indexOf('--', from)
  return at < 0 || at + 1 === words.length ? undefined : at + 1
}

const isUrl = (word: string): boolean => /^https?:\/\//i.test(word)

/** The last value of an option, written as `--name=value` or as `--name value`. */
export const optionOf = (options: readonly string[], name: string): string | undefined =>
  optionsOf(options, name).at(-1)

export const optionsOf = (options: readonly string[], name: string): readonly string[] =>
  options.flatMap((word, index) => {
    if (word.startsWith(`--${name}=`)) return [word.slice(name.length + 3)]
    const value = options[index + 1]
    return word === `--${name}` && value !== undefined ? [value] : []
  })

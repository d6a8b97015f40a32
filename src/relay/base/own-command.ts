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
  /** This copy came from the registry of npm under our name, so `npx` of this version starts this program. */
  readonly published: boolean
  /** Paths of the Node.js that runs us, in order of preference. */
  readonly nodes: readonly string[]
  /** Temporary folders. */
  readonly temporary: readonly string[]
}

/** Why no command would go on starting us, and how to change that. */
interface Refusal {
  readonly refusal: string
}

/**
 * The launcher that is written into a client's file. It needs no global installation: it has the absolute
 * paths of Node.js and of mcp-customs. Where such a path is temporary or the file is shared, it is npx, for a
 * copy that came from the registry. A name in a registry from which this copy did not come may be another
 * program, today or later.
 * @param shared the file is also read on other machines, which do not have these paths
 */
export const launcherFor = (
  { platform, version, file, published, nodes, temporary }: Installation, shared: boolean,
): Launcher | Refusal => {
  const stays = (path: string) => !isPassing(path, temporary)
  const node = nodes.find(stays)
  const [problem, remedy] = shared
    ? [
        'the file is shared, and paths of this machine mean nothing on others',
        'wrap the servers in a file of your own (--client NAME, without --project)',
      ]
    : !stays(file)
        ? [
        `this copy of mcp-customs (${file}) is in a temporary folder or a cache, which may be emptied`,
        'copy it to a folder that stays, and run install from there',
          ]
        : ['the Node.js that runs this is in a temporary folder or a cache, which may be emptied', 'run install by another']
  if (!shared && stays(file) && node !== undefined) {
    return { words: [node, file], reason: 'Node.js and this copy of mcp-customs, where they are now' }
  }
  // A copy that npm fetched can be fetched again.
  if (!published) return { refusal: `${problem}: ${remedy}` }
  const npx = ['npx', '-y', `mcp-customs@${version}`]
  // On Windows clients cannot start `npx.cmd` without a shell.
  return { words: platform === 'win32' ? ['cmd', '/c', ...npx] : npx, reason: problem }
}

export const sameWords = (a: readonly string[], b: readonly string[]): boolean =>
  a.join('\0') === b.join('\0')

/** Whether words are those by which `install` of a published copy starts it. */
export const isNpxOfUs = (words: readonly string[]): boolean =>
  !words.some(word => word.includes(' '))
    && /^(?:cmd \/c )?npx -y mcp-customs@\d+\.\d+\.\d+(?:-[\w.-]+)?$/.test(words.join(' '))

/** The command that starts this copy now, wherever it is. */
export const ownWords = ({ file, nodes: [node = 'node'] }: Installation): readonly string[] => [node, file]

/** Whether a path is in a temporary folder, or in a cache of npx or another package runner. */
export const isPassing = (path: string, temporary: readonly string[]): boolean => {
  const plain = slashed(path)
  const isIn = (folder: string) => plain.startsWith(`${slashed(folder).replace(/\/$/, '')}/`)
  return caches.test(plain) || [...alwaysTemporary, ...temporary].some(isIn)
}

const slashed = (path: string): string => path.replaceAll('\\', '/').toLowerCase()

const caches = new RegExp('/(?:_npx|_cacache|fnm_multishells|dlx|dlx-[^/]*|bunx-[^/]*|xfs-[^/]*|install/cache' +
  '|\\.yarn/(?:cache|berry|\\$\\$virtual))/')
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
  /** Whether words start this very program, or are words that `install` wrote. */
  readonly isOurs: (launcher: readonly string[]) => boolean
}

/**
 * Reads a command line that starts us.
 * @param words the program and its arguments
 * @returns undefined for any other command line
 */
export const readOwnCommand = (words: readonly string[], recognizer: Recognizer): OwnCommand | undefined =>
  readFrom(words, 0, recognizer)

const readFrom = (words: readonly string[], from: number, recognizer: Recognizer): OwnCommand | undefined => {
  const start = words.indexOf('wrap', from)
  if (start <= from || !recognizer.isOurs(words.slice(from, start))) return undefined
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

/**
 * Whether a command line has us before its word `wrap`, in another way than ours: a program of this name from
 * anywhere, or this program behind a shell or an option of Node.js. Not to be asked of words that are ours.
 */
export const looksLikeUs = (words: readonly string[], { isOurs }: Recognizer): boolean =>
  words.slice(0, Math.max(0, words.indexOf('wrap'))).some(word => ourName.test(word) || isOurs([word]))
    || words.some(namesUs)

const ourName = /(?:^|[\\/:=\s])mcp-customs(?:-[\d.]+\.tgz)?(?![\w-])/

/** In two steps: one expression would search the rest of the text once for each of our names in it. */
const namesUs = (word: string): boolean => {
  const at = word.search(ourName)
  return at >= 0 && /\swrap\s/.test(word.slice(at))
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

/** How a command line starts us in front of a server. */
export interface OwnCommand {
  /** The words that start us, `wrap` included. */
  readonly launcher: readonly string[]
  readonly options: readonly string[]
  /** Where, among all words, the server's command begins or its URL stands. */
  readonly target: number
  readonly remote: boolean
  /** What is guarded is guarded already: we stand there twice. Its places are among all words too. */
  readonly inner?: OwnCommand
}

export interface Knowledge {
  /** Whether an option of `wrap` is followed by its value; undefined for one that it does not have. */
  readonly takesValue: (option: string) => boolean | undefined
  /** Whether a file is our program, however its folder is named. */
  readonly isOurs: (file: string) => boolean
}

/**
 * Our own command in each of its spellings: by npx and its like, by a global name, by a path, behind `cmd /c`.
 * @param words the program and its arguments
 */
export const readOwnCommand = (words: readonly string[], knowledge: Knowledge): OwnCommand | undefined => readFrom(words, 0, knowledge)

const readFrom = (words: readonly string[], from: number, knowledge: Knowledge): OwnCommand | undefined => {
  const start = afterProgram(words, afterShell(words, from), knowledge.isOurs)
  if (start === undefined || words[start] !== 'wrap') return undefined
  const target = targetOf(words, start + 1, knowledge.takesValue)
  if (target === undefined) return undefined
  const inner = readFrom(words, target, knowledge)
  const optionsEnd = words[target - 1] === '--' ? target - 1 : target
  return {
    launcher: words.slice(from, start + 1),
    options: words.slice(start + 1, optionsEnd),
    target,
    remote: optionsEnd === target && isUrl(words[target] ?? ''),
    ...(inner && { inner }),
  }
}

/** The one of us that stands before the server itself. */
export const innermost = (own: OwnCommand): OwnCommand => (own.inner ? innermost(own.inner) : own)

/** Whether we are started after all, by a shell or another program: which words are whose only that program knows. */
export const startsUsSomehow = (words: readonly string[], { isOurs }: Knowledge): boolean =>
  words.some((word, index) => (words[index + 1] === 'wrap' && isUs(word, isOurs)) || /\bmcp-customs\b.*\swrap\s/.test(word))

const isUs = (word: string, isOurs: Knowledge['isOurs']): boolean => isOurPackage(word) || baseOf(word) === 'mcp-customs' || isOurFile(word, isOurs)

const baseOf = (path = ''): string => (path.split(/[\\/]/).pop() ?? '').toLowerCase().replace(/\.(?:exe|cmd|ps1|bat)$/, '')

const afterShell = (words: readonly string[], from: number): number => {
  if (baseOf(words[from]) !== 'cmd') return from
  const program = words.findIndex((word, index) => index > from && !/^\/[a-z]$/i.test(word))
  return program < 0 ? words.length : program
}

/** @returns where what follows our program begins */
const afterProgram = (words: readonly string[], at: number, isOurs: Knowledge['isOurs']): number | undefined => {
  const program = baseOf(words[at])
  if (program === 'mcp-customs') return at + 1
  const next = words[at + 1] ?? ''
  if (['npx', 'pnpx', 'bunx'].includes(program)) return afterPackage(words, at + 1)
  if (['npm', 'pnpm', 'yarn', 'bun'].includes(program) && ['exec', 'x', 'dlx'].includes(next)) return afterPackage(words, at + 2)
  if (!['node', 'bun', 'deno'].includes(program)) return undefined
  const file = words.findIndex((word, index) => index > at && !word.startsWith('-'))
  return file > 0 && isOurFile(words[file] ?? '', isOurs) ? file + 1 : undefined
}

const isOurFile = (file: string, isOurs: Knowledge['isOurs']): boolean =>
  baseOf(file) === 'mcp-customs' || /[\\/]mcp-customs[\\/]dist[\\/]cli\.js$/i.test(file) || isOurs(file)

/** A name, a repository or an archive, with or without a version. */
const isOurPackage = (word: string): boolean => /(?:^|[\\/:])mcp-customs(?:[@#][^\\/]*|-[\d.]+\.tgz)?$/.test(word)

/** Past the options of npx and its like, and the package or the name of its command. */
const afterPackage = (words: readonly string[], from: number): number | undefined => {
  for (let at = from; at < words.length; at++) {
    const word = words[at] ?? ''
    if (word === '--package' || word === '-p') at++
    else if (!word.startsWith('-')) return isOurPackage(word) ? at + 1 : undefined
  }
  return undefined
}

/** Past the options of `wrap`: what follows `--`, a URL, or the first word that is no option. */
const targetOf = (words: readonly string[], from: number, takesValue: Knowledge['takesValue']): number | undefined => {
  let at = from
  while (at < words.length) {
    const word = words[at] ?? ''
    if (word === '--') return at + 1 < words.length ? at + 1 : undefined
    if (!word.startsWith('--')) return at
    const known = word.includes('=') ? false : takesValue(word.slice(2))
    // Of an option that another version has, nobody knows how many words it takes.
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

/** The value of an option, in either of its spellings. */
export const optionOf = (options: readonly string[], name: string): string | undefined => optionsOf(options, name).at(-1)

export const optionsOf = (options: readonly string[], name: string): readonly string[] =>
  options.flatMap((word, index) => {
    if (word.startsWith(`--${name}=`)) return [word.slice(name.length + 3)]
    const value = options[index + 1]
    return word === `--${name}` && value !== undefined ? [value] : []
  })

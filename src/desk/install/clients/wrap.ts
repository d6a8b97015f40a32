import type { CommandServer, RemoteEntry } from './entry.js'
import { optionOf } from '#relay/base/own-command.js'
import type { Document, Member, Splice, TableValue, TextValue } from './tree.js'
import { treeSlice } from './tree.js'
import type { WrappedServer } from './unwrap.js'

/** A word of a server's command line that named a package, and the same with its version. */
export interface Pin {
  readonly from: string
  readonly to: string
}

/** Options of `wrap` that `install` sets. */
interface WrapOptions {
  /** The server's name in the audit log. */
  readonly server: string
  readonly policy?: string | undefined
  /** What the client accepts of tools. */
  readonly profile?: string | undefined
  /** The path of a lock file. */
  readonly lock?: string | undefined
}

/** Replaces the last word of the server's args that names a package by the same with its version. */
export const pinEdits = (
  { spellText }: Document, elements: readonly TextValue[], pin: Pin | undefined,
): readonly Splice[] => {
  const element = pin && elements.findLast(({ text }) => text === pin.from)
  return element ? [replace(element, spellText(pin.to))] : []
}

export const optionWords = ({ server, policy, profile, lock }: WrapOptions): readonly string[] => [
  `--server=${server}`,
  ...(policy === undefined ? [] : [`--policy=${policy}`]),
  ...(profile === undefined ? [] : [`--profile=${profile}`]),
  ...(lock === undefined ? [] : [`--lock=${lock}`]),
]

/**
 * The changes that wrap a server. Every text of the entry keeps its bytes; some move.
 * @param launcher a program and its first arguments
 * @param options of `wrap`
 */
export const wrapEdits = (
  document: Document, server: CommandServer | RemoteEntry, launcher: readonly string[],
  options: readonly string[], pin?: Pin,
): readonly Splice[] => {
  const [program = '', ...first] = launcher
  const start = [...first, 'wrap', ...options]
  if (server.kind === 'remote') return wrapRemote(document, server, program, start)
  const { command, args } = server
  if (args === undefined) return wrapSole(document, command, program, [...start, '--'])
  const words = [...spelt(document, [...start, '--']), treeSlice(document, command.value)]
  return [
    replace(command.value, document.spellText(program)), insertWords(document, args.value, words),
    ...pinEdits(document, args.value.elements, pin),
  ]
}

/** The changes that replace the words that start us in a wrapped entry. */
export const rewrapEdits = (
  document: Document, { command, args, own }: WrappedServer, launcher: readonly string[],
  options: readonly string[],
): readonly Splice[] => {
  const [program = '', ...words] = [...launcher, 'wrap', ...options]
  const [first] = args.value.elements
  const before = args.value.elements[own.target - 2]
  if (first === undefined || before === undefined) return []
  const all = before.text === '--' ? [...words, '--'] : words
  return [
    replace(command.value, document.spellText(program)),
    { from: first.from, to: before.to, text: spelt(document, all).join(', ') },
  ]
}

/** Sets one option. @param value undefined: no change */
export const withOption = (
  options: readonly string[], name: string, value: string | undefined,
): readonly string[] => {
  if (value === undefined) return options
  const others = options.filter((word, index) =>
    !word.startsWith(`--${name}=`) && word !== `--${name}` && options[index - 1] !== `--${name}`)
  return optionOf(options, name) === value ? options : [...others, `--${name}=${value}`]
}

const replace = ({ from, to }: TextValue, text: string): Splice => ({ from, to, text })

const spelt = ({ spellText }: Document, words: readonly string[]): readonly string[] => words.map(spellText)

/** Inserts words in front of the first element, on a line of their own if that element has its own line. */
const insertWords = (
  document: Document, { from, elements: [element] }: { from: number; elements: readonly TextValue[] },
  words: readonly string[],
): Splice => {
  const at = element?.from ?? from + 1
  const text = words.join(', ') + (element ? `,${lineBefore(document.text, at) ?? ' '}` : '')
  return { from: at, to: at, text }
}

/** The line break and indentation in front of a position; undefined when it is not the first on its line. */
const lineBefore = (text: string, at: number): string | undefined =>
  /\r?\n[ \t]*$/.exec(text.slice(0, at))?.[0]

/**
 * Wraps an entry that has only one member for the server: a `command` without `args`, or a `url`. The member
 * becomes `args` with its old value as the last element, and a new `command` is put in front of it.
 */
const wrapSole = (
  document: Document, member: Member & { readonly value: TextValue }, program: string,
  words: readonly string[],
): readonly Splice[] => {
  const { text, spellKey, spellText } = document
  const [key] = member.keys
  const [place] = member.places
  if (key === undefined || place === undefined) return []
  // The text between the key and its value; and, for a dotted key of TOML, the text in front of the key.
  const equals = /^\s*[:=]\s*$/.exec(text.slice(key.to, member.value.from))?.[0]
    ?? (text.slice(key.to, member.value.from).includes(':') ? ': ' : ' = ')
  const before = text.slice(place.from, key.from)
  const line = lineBefore(text, place.from)
  const next = member.layout === 'line' ? (line ?? '\n') : `,${line ?? ' '}`
  return [
    {
      from: place.from, to: place.from,
      text: `${before}${spellKey('command')}${equals}${spellText(program)}${next}`,
    },
    { ...key, text: spellKey('args') },
    {
      from: member.value.from, to: member.value.from,
      text: `[${[...spelt(document, words), ''].join(', ')}`,
    },
    { from: member.value.to, to: member.value.to, text: ']' },
  ]
}

/**
 * The table of headers becomes `env`, whose variables `wrap` reads. So the values stay where they are, and
 * out of the command line, which all users of the machine can read.
 */
const wrapRemote = (
  document: Document, { url, type, headers, bearer }: RemoteEntry, program: string, start: readonly string[],
): readonly Splice[] => {
  const named = nameVariables(headers?.value)
  const words = [
    ...named.flatMap(({ header, variable }) => ['--header', `${header}=${reference(variable)}`]),
    ...(bearer ? ['--header', `Authorization=Bearer ${reference(bearer.value.text)}`] : []),
  ]
  const { spellKey, spellText } = document
  const rename = (member: Member, key: string): Splice[] =>
    member.keys.map(span => ({ ...span, text: spellKey(key) }))
  return [
    ...wrapSole(document, url, program, [...start, ...words]),
    ...(type ? [replace(type.value, spellText('stdio'))] : []),
    ...(headers ? rename(headers, 'env') : []),
    ...named.flatMap(({ member, variable }) => rename(member, variable)),
    // Codex hands on only the variables in `env_vars`.
    ...(bearer ? [
      ...rename(bearer, 'env_vars'), replace(bearer.value, `[${treeSlice(document, bearer.value)}]`),
    ] : []),
  ]
}

interface Named {
  readonly member: Member
  readonly header: string
  readonly variable: string
}

const nameVariables = (headers: TableValue | undefined): readonly Named[] => {
  const taken = new Set<string>()
  return (headers?.members ?? []).map(member => {
    const plain = `${variablePrefix}${member.key.toUpperCase().replace(/[^A-Z0-9]/g, '_')}`
    let variable = plain
    for (let number = 2; taken.has(variable); number++) variable = `${plain}_${number}`
    taken.add(variable)
    return { member, header: member.key, variable }
  })
}

const variablePrefix = 'MCP_CUSTOMS_HEADER_'

export const isOurVariable = (variable: string): boolean => variable.startsWith(variablePrefix)

/**
 * A reference that `wrap` replaces with the variable's value. It has no dollar sign, because several clients
 * replace `${env:NAME}` themselves, from their own environment.
 */
const reference = (variable: string): string => `{env:${variable}}`

/** The header and the variable of an option `--header` that `install` wrote; undefined for any other. */
export const readReference = (option: string): {
  header: string; bearer: boolean; variable: string
} | undefined => {
  const [, header, bearer, variable] = /^([^=]+)=(Bearer )?\$?\{env:([^}]+)\}$/.exec(option) ?? []
  if (header === undefined || variable === undefined) return undefined
  return { header, bearer: bearer !== undefined, variable }
}

import { parseArgs } from 'node:util'
import { CustomsError } from '../errors.js'
import { texts, type Flag, type Given, type Rest } from './flag.js'
import { commands, type Command } from './index.js'

/** What a command line asks for: a command, or a text to print. */
export type Asked = { readonly command: Command; readonly given: Given; readonly rest: Rest } | { readonly print: string }

/**
 * Reads the command line. The first word that is neither an option nor a URL begins the server's own command line, as `--` does: some
 * launchers swallow that (npm exec, npx in PowerShell). All that follows is the server's, whatever it looks like.
 * @throws CustomsError BAD_USAGE
 */
export const readCommandLine = async ([first, ...words]: readonly string[]): Promise<Asked> => {
  if (first === undefined) return refuse('which command?')
  const print = await printed(first)
  if (print !== undefined) return { print }
  const command = commands.find(({ name }) => name === first)
  if (command === undefined) return refuse(`there is no command ${JSON.stringify(first)}${await meant(first, commands.map(({ name }) => name))}`)
  return readWords(command, words)
}

const readWords = async (command: Command, words: readonly string[]): Promise<Asked> => {
  const wrong = (reason: string) => refuse(reason, `${command.name} `)
  const { tokens } = parseArgs({ args: [...words], options: optionsOf(command), strict: false, allowPositionals: true, tokens: true })
  const end = tokens.findIndex(token => token.kind === 'option-terminator' || (token.kind === 'positional' && command.server && !isUrl(token.value)))
  const last = tokens[end]
  const server = last && words.slice(last.kind === 'positional' ? last.index : last.index + 1)
  const given = new Map<string, string | boolean | readonly string[]>()
  const plain: string[] = []
  for (const token of end < 0 ? tokens : tokens.slice(0, end)) {
    if (token.kind === 'positional') plain.push(token.value)
    if (token.kind !== 'option') continue
    const { name, rawName, value, inlineValue } = token
    const print = await printed(rawName, command)
    if (print !== undefined) return { print }
    const flag = rawName.startsWith('--') ? new Map(Object.entries(command.flags)).get(name) : undefined
    if (flag === undefined) return wrong(`there is no option ${rawName}${await meant(rawName, Object.keys(command.flags).map(one => `--${one}`))}`)
    if (flag.type === 'boolean') {
      if (value !== undefined) return wrong(`${rawName} takes no value`)
      given.set(name, true)
      continue
    }
    if (value === undefined || value === '' || (!inlineValue && /^-./.test(value))) return wrong(`${rawName} needs a value: ${flag.value ?? ''}`)
    if (flag.choices?.includes(value) === false) return wrong(`${rawName} ${JSON.stringify(value)}: must be ${flag.choices.join(', ')}${await meant(value, flag.choices)}`)
    if (flag.multiple === true) given.set(name, [...texts(given, name), value])
    else if (given.has(name)) return wrong(`${rawName} was given more than once`)
    else given.set(name, value)
  }
  if (plain.length < command.words.least || plain.length > command.words.most) return wrong(`usage: ${command.usage.map(one => `mcp-customs ${command.name} ${one}`).join(', or ')}`)
  return { command, given, rest: { words: plain, command: server } }
}

const optionsOf = ({ flags }: Command) =>
  Object.fromEntries(Object.entries(flags).map(([name, { type, multiple = false }]: [string, Flag]) => [name, { type, multiple }]))

/** A word with a scheme; which ones are served is judged later, by the reader of the file's URLs. */
const isUrl = (word: string): boolean => /^[a-z][a-z0-9+.-]*:\/\//i.test(word)

/** Help and version are loaded where they are asked for. */
const printed = async (word: string, command?: Command): Promise<string | undefined> => {
  if (word === '--help' || word === '-h') return (await import('./help.js')).help(command)
  return word === '--version' ? (await import('./version.js')).version() : undefined
}

const meant = async (word: string, candidates: readonly string[]): Promise<string> =>
  (await import('../config/suggestion.js')).suggestion(word, candidates)

const refuse = (reason: string, command = ''): never => {
  throw new CustomsError('BAD_USAGE', `${reason} (see mcp-customs ${command}--help)`)
}

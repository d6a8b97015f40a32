import { parseArgs } from 'node:util'
import { badUsage } from '#relay/base/errors.js'
import type { Given, Rest } from './flag.js'
import { type Command, commands } from './commands.js'

/** What a command line asks for: a command to run, or a text to print. */
export type Asked = { readonly command: Command; readonly given: Given; readonly rest: Rest }
  | { readonly print: string }

/**
 * Valid command lines are read by Node's own parser, because a desktop client starts one relay per server and
 * yargs takes longer to load than everything that `wrap` needs. Help, completions and errors are left to
 * yargs.
 * @throws CustomsError BAD_USAGE
 */
export const readCommandLine = async (words: readonly string[]): Promise<Asked> => {
  const [name, ...others] = words
  const command = commands.find(one => one.name === name)
  if (command === undefined) return { print: await (await import('./help.js')).explain(words) }
  const { own, server } = divide(command, withoutNumbers(command, others))
  const read = readPlainly(command, own)
  if (read === undefined) return { print: await (await import('./help.js')).explain(own, command) }
  return { command, given: read.given, rest: { words: read.words, command: server } }
}

/** Node's parser takes `-31001` for options: a number begins what is no option. */
const withoutNumbers = ({ server }: Command, words: readonly string[]): readonly string[] => {
  const at = server || words.includes('--') ? -1 : words.findIndex(word => /^-\d+$/.test(word))
  return at < 0 ? words : [...words.slice(0, at), '--', ...words.slice(at)]
}

/**
 * Splits our own words from the server's command line, which begins at `--` or at the first word that is
 * neither an option, a URL nor a saved list: some launchers swallow the `--` (npm exec, npx in PowerShell).
 */
export const divide = (command: Command, words: readonly string[]) => {
  const { tokens } = parseArgs({ ...parserOf(command, words), strict: false })
  const beginsCommand = (word: string) =>
    command.server && !isUrl(word) && command.files?.test(word) !== true
  const end = tokens.find(token =>
    token.kind === 'option-terminator' || (token.kind === 'positional' && beginsCommand(token.value)))
  if (end === undefined) return { own: words, server: undefined }
  const start = end.kind === 'positional' ? end.index : end.index + 1
  return { own: words.slice(0, end.index), server: words.slice(start) }
}

/** @throws CustomsError BAD_USAGE for what no parser of options minds */
const readPlainly = (command: Command, words: readonly string[]) => {
  const parsed = parse(command, words)
  if (parsed === undefined) return undefined
  const flags = new Map(Object.entries(command.flags))
  const given = new Map<string, string | boolean | readonly string[]>()
  for (const [name, value] of Object.entries(parsed.values)) {
    const values = [value].flat().map(String)
    const { type, multiple, choices, value: wanted } = flags.get(name) ?? {}
    if (values.some(one => choices?.includes(one) === false)) return undefined
    if (values.includes('')) return refuseArguments(command, `--${name} needs a value: ${wanted}`)
    if (type === 'string' && multiple !== true && values.length > 1) {
      return refuseArguments(command, `--${name} was given more than once`)
    }
    given.set(name, type === 'boolean' ? true : multiple === true ? values : String(value))
  }
  const { least, most } = command.words
  return parsed.positionals.length < least || parsed.positionals.length > most
    ? refuseUsage(command)
    : { given, words: parsed.positionals }
}

const parse = (command: Command, words: readonly string[]) => {
  try {
    return parseArgs({ ...parserOf(command, words), strict: true })
  } catch {
    return undefined
  }
}

/**
 * Every option is declared repeatable, so that a repetition can be refused: Node would silently take the
 * last.
 */
const parserOf = ({ flags }: Command, words: readonly string[]) => ({
  args: [...words],
  options: Object.fromEntries(Object.entries(flags).map(
    ([name, { type, short }]) => [name, { type, multiple: true, ...(short !== undefined && { short }) }],
  )),
  allowPositionals: true,
  tokens: true,
} as const)

/** A word with a scheme; config/ decides later which schemes are served. */
const isUrl = (word: string): boolean => /^[a-z][a-z0-9+.-]*:\/\//i.test(word)

export const refuseUsage = (command: Command): never =>
  refuseArguments(command, 'usage: ' +
    command.usage.map(one => `mcp-customs ${command.name} ${one}`.trim()).join(', or '))

export const refuseArguments = (command: Command | undefined, reason: string): never =>
  badUsage(`${reason} (see mcp-customs ${command === undefined ? '' : `${command.name} `}--help)`)

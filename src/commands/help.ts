import { readFileSync } from 'node:fs'
import yargs, { type Argv } from 'yargs'
import type { Command } from './index.js'
import { commands } from './index.js'
import type { Given, Rest } from './flags.js'
import { suggestion } from '../config/suggestion.js'
import { CustomsError } from '../errors.js'
import { quote } from '../protocol/quote.js'

interface Read {
  readonly command: Command
  readonly given: Given
  readonly rest: Rest
}

/**
 * The command line as yargs reads it, from the same table of flags: prints the help and the version, and says what is
 * wrong with a command line that cannot be read.
 * @returns what to run, or the exit code when help or version was all that was asked for
 * @throws CustomsError BAD_USAGE
 */
export const readOrExplain = async (words: readonly string[], command: readonly string[] | undefined): Promise<Read | number> => {
  const [first] = words
  if (first !== undefined && !first.startsWith('-')) checkName(first)
  const read: Read[] = []
  const printed: string[] = []
  const parser = yargs([])
    .scriptName('mcp-customs')
    .usage('$0 COMMAND\n\nA validating proxy for the Model Context Protocol: checks what tools return against what they declare.')
    .version(version())
    .help()
    .alias('help', 'h')
    .strict()
    .demandCommand(1, 'which command?')
    .exitProcess(false)
    .fail((message, error) => {
      // yargs hands on what a handler throws as well as what it finds itself.
      throw error instanceof CustomsError ? error : new CustomsError('BAD_USAGE', `${message || error.message} (see mcp-customs --help)`)
    })
    .wrap(Math.min(100, process.stdout.columns || 100))
  for (const one of commands) {
    parser.command(`${one.name} [words..]`, one.describe, builder(one), argv => {
      const positionals = (argv.words as readonly unknown[] | undefined)?.map(String) ?? []
      if (positionals.length < one.words.least || positionals.length > one.words.most) {
        throw new CustomsError('BAD_USAGE', `usage: mcp-customs ${one.usage}`)
      }
      read.push({ command: one, given: givenOf(one, argv), rest: { words: positionals, command } })
    })
  }
  await parser.parseAsync([...words], {}, (_error, _argv, output) => {
    if (output !== '') printed.push(output)
  })
  for (const output of printed) process.stdout.write(`${output}\n`)
  const [found] = read
  if (found !== undefined) return found
  if (printed.length > 0) return 0
  throw new CustomsError('BAD_USAGE', 'nothing to do (see mcp-customs --help)')
}

const checkName = (name: string): void => {
  const names = commands.map(one => one.name)
  if (!names.includes(name)) throw new CustomsError('BAD_USAGE', `there is no command ${quote(name)}${suggestion(name, names)} (see mcp-customs --help)`)
}

const builder = (one: Command) => (yargs: Argv) => {
  yargs.usage(`mcp-customs ${one.usage}\n\n${one.describe}`).positional('words', { type: 'string', array: true })
  for (const [name, { type, multiple = false, choices, describe }] of Object.entries(one.flags)) {
    yargs.option(name, {
      type, describe, array: multiple, ...(choices && { choices }), ...(type === 'string' && { requiresArg: true, nargs: 1 }),
    })
  }
  return yargs
}

const givenOf = ({ flags }: Command, argv: Readonly<Record<string, unknown>>): Given =>
  new Map(
    Object.entries(flags).flatMap(([name, { type, multiple }]): [string, string | boolean | readonly string[]][] => {
      const value = argv[name]
      if (value === undefined) return []
      if (multiple === true) return [[name, Array.isArray(value) ? value.map(String) : []]]
      if (type === 'boolean') return [[name, value === true]]
      if (typeof value === 'string') return [[name, value]]
      throw new CustomsError('BAD_USAGE', `--${name} was given more than once`)
    }),
  )

export const version = (): string => {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string }
  return version
}

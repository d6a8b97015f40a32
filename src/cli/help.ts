import { basename } from 'node:path'
import yargs, { type Argv } from 'yargs'
import { keys } from '#relay/config/generated/keys.js'
import { orList, suggestion } from '#relay/config/check.js'
import { badUsage } from '#relay/base/errors.js'
import { divide, refuseArguments, refuseUsage } from './command-line.js'
import type { Flag } from './flag.js'
import { type Command, commands } from './commands.js'
import { version } from '#relay/base/version.js'

/**
 * Prints help, the version or completions, or explains why a command line is invalid. Runs no command: only
 * command lines that Node's parser has read are run.
 * @param words those of ours: behind the command's name, where there is a command
 * @returns what is left to print
 * @throws CustomsError BAD_USAGE
 */
export const explain = async (words: readonly string[], command?: Command): Promise<string> => {
  if (command === undefined && words[0] === '--get-yargs-completions') return complete(words)
  const printed: string[] = []
  const asked = command ? [command.name, ...words] : words.slice(0, 1)
  await parser(command).parseAsync(asked, {}, (_error, _argv, output) => void printed.push(output))
  const [text = ''] = printed
  if (text !== '') return `${text}\n`
  if (command) return refuseUsage(command)
  return explain(['--help'])
}

// yargs writes completions to stdout itself.
const complete = async (words: readonly string[]): Promise<string> => {
  const { completes } = commands.find(({ name }) => name === words[2]) ?? {}
  if (completes !== undefined && words.length > 3) {
    const fitting = (await completes()).filter(one => one.startsWith(words.at(-1) ?? ''))
    return fitting.map(one => `${one}\n`).join('')
  }
  if (!isOthers(words)) await parser().parseAsync([...words])
  return ''
}

/** yargs has no script for fish; its completions work there too. */
const fishScript = 'complete -c mcp-customs -a ' +
  '\'(mcp-customs --get-yargs-completions (commandline -opc) (commandline -ct))\'\n'

/** Writes the script of the shell that `SHELL` names to stdout. */
export const completion = (shell = basename(process.env['SHELL'] ?? '')): number => {
  // yargs would write bash's script for any other shell.
  if (shell === 'fish') {
    process.stdout.write(fishScript)
    return 0
  }
  if (shell !== '' && !/^(?:bash|zsh|sh)$/.test(shell)) {
    badUsage(`completion: there is a script for bash, zsh and fish, and none for ${shell} ` +
      '(SHELL=bash chooses one)')
  }
  parser().showCompletionScript()
  return 0
}

const parser = (command?: Command): Argv => {
  const known = [...commands.map(({ name }) => name), ...Object.keys(command?.flags ?? {})]
  const start = yargs()
    .scriptName('mcp-customs')
    .locale('en')
    .usage('$0 COMMAND\n\nA validating proxy for the Model Context Protocol: checks what tools return ' +
      'against what they declare.')
    .parserConfiguration({ 'boolean-negation': false, 'camel-case-expansion': false, 'dot-notation': false })
    .version(version())
    .alias('help', 'h')
    .strictOptions()
    .strictCommands()
    .exitProcess(false)
    .wrap(Math.min(100, process.stdout.columns || 100))
    .fail(message => {
      const [, option = '', given = '', choices = ''] =
        /^Invalid values:\s+Argument: (\S+), Given: (.*), Choices: (.*)$/s.exec(message) ?? []
      if (option !== '') {
        const words = orList(choices.split(', ').map(word => word.replaceAll('"', '')))
        return refuseArguments(command, `--${option} ${given}: must be ${words}`)
      }
      const [, unknown] = /^Unknown \w+: ([^,]+)/.exec(message) ?? []
      // yargs reports an invalid choice in several lines.
      return refuseArguments(
        command, `${message.replace(/\s+/g, ' ')}${unknown === undefined ? '' : suggestion(unknown, known)}`,
      )
    })
  for (const { examples: [first = ''] } of commands) start.example(`$0 ${first}`, '')
  return commands.reduce(
    (all, one) => all.command(one.name, one.describe, inner => describe(inner, one)), start,
  )
}

const describe = (parser: Argv, { name, usage, describe, flags, examples }: Command): Argv => {
  parser
    .usage(`${usage.map(one => `$0 ${name} ${one}`.trim()).join('\n')}\n\n` +
      `${describe.charAt(0).toUpperCase()}${describe.slice(1)}.`)
    .strictCommands(false)
  for (const [name, flag] of Object.entries(flags)) {
    const { type, group = 'Options', short, choices } = flag
    parser.option(name, {
      describe: descriptionOf(flag), group: `${group}:`,
      ...(type === 'boolean' ? { type, nargs: 0 } : { nargs: 1 }),
      ...(choices && { choices }), ...(short !== undefined && { alias: short }),
    })
  }
  for (const example of examples) parser.example(`$0 ${example}`, '')
  return parser
}

interface KeyDescription {
  readonly description?: string
  readonly default?: string | number | boolean
}

const descriptionOf = ({ value, multiple, key, unit, ...flag }: Flag): string => {
  const { description, default: usual }: KeyDescription = key ? keys[key] : {}
  // The schema's descriptions are sentences for configuration files, whose times are in milliseconds.
  const described =
    description?.replace(/^serve: /, '').replace(', in milliseconds', '').replace(/\.$/, '') ?? ''
  const text = flag.describe ?? described.charAt(0).toLowerCase() + described.slice(1)
  const known = flag.default ?? (typeof usual === 'number' && unit === 'seconds' ? usual / 1000 : usual)
  return [
    ...(value === undefined ? [] : [`<${value}>`]), text,
    ...(known === undefined ? [] : [`(default: ${String(known)})`]),
    ...(multiple === true ? ['(repeatable)'] : []),
  ].join(' ')
}

/**
 * Whether the word being completed belongs to the server's command, a file or an option's value: the shell
 * completes these better.
 */
const isOthers = (words: readonly string[]): boolean => {
  const command = commands.find(({ name }) => name === words[2])
  if (command === undefined) return false
  const { own, server } = divide(command, words.slice(3, -1))
  const before = own.at(-1) ?? ''
  const flag =
    before.startsWith('--') ? new Map(Object.entries(command.flags)).get(before.slice(2)) : undefined
  return server !== undefined || (!command.server && own.length > 0)
    || (flag?.type === 'string' && flag.choices === undefined)
}

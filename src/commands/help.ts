import { commands, type Command } from './index.js'

/** The text of `--help`: of one command, or of all. */
export const help = (command?: Command): string => (command ? helpOf(command) : overview())

const overview = (): string => [
  'mcp-customs COMMAND',
  '',
  'A validating proxy for the Model Context Protocol: checks what tools return against what they declare.',
  '',
  'Commands:',
  ...columns(commands.map(({ name, describe }) => [name, describe])),
  '',
  'Options:',
  ...columns([['--version', 'print the version'], ['-h, --help', 'print this text, or that of a command']]),
  '',
  'Examples:',
  ...commands.flatMap(({ examples: [first = ''] }) => [`  mcp-customs ${first}`]),
].join('\n')

const helpOf = ({ name, usage, describe, flags, examples }: Command): string => [
  ...usage.map(one => `mcp-customs ${name} ${one}`),
  '',
  `${describe.charAt(0).toUpperCase()}${describe.slice(1)}.`,
  '',
  'Options:',
  ...columns([
    ...Object.entries(flags).map(([flag, { value, multiple = false, describe }]) =>
      [value === undefined ? `--${flag}` : `--${flag} ${value}`, multiple ? `${describe} (repeatable)` : describe] as const),
    ['-h, --help', 'print this text'],
  ]),
  '',
  'Examples:',
  ...examples.map(one => `  mcp-customs ${one}`),
].join('\n')

const columns = (rows: readonly (readonly [string, string])[]): readonly string[] => {
  const width = Math.max(...rows.map(([left]) => left.length))
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`)
}

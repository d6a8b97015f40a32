#!/usr/bin/env node
import { parseArgs } from 'node:util'
import { commands, type Command } from './commands/index.js'
import type { Given, Rest } from './commands/flags.js'
import { CustomsError } from './errors.js'

/** Everything after the first `--` belongs to the server, word for word: no parser of ours sees it. */
const split = process.argv.indexOf('--', 2)
const words = process.argv.slice(2, split === -1 ? undefined : split)
const command = split === -1 ? undefined : process.argv.slice(split + 1)

/**
 * A plain command line, read by Node's own parser: loading yargs costs as much as everything else that `wrap` needs
 * (60 ms), and a desktop client starts one relay per server. Whatever is not plain is for yargs to explain.
 */
const readPlainly = (): { command: Command; given: Given; rest: Rest } | undefined => {
  const found = commands.find(({ name }) => name === words[0])
  if (found === undefined) return undefined
  try {
    const options = Object.fromEntries(
      Object.entries(found.flags).map(([name, { type, multiple = false }]) => [name, { type, multiple }]),
    )
    const { values, positionals, tokens } = parseArgs({
      args: words.slice(1), options, allowPositionals: true, strict: true, tokens: true,
    })
    const named = tokens.flatMap(token => (token.kind === 'option' && options[token.name]?.multiple === false ? [token.name] : []))
    if (new Set(named).size < named.length) return undefined
    const given = new Map(Object.entries(values).flatMap(([name, value]) => (value === undefined ? [] : [[name, plain(value)]])))
    const fits = [...given].every(([name, value]) => found.flags[name]?.choices?.includes(String(value)) ?? true)
    if (!fits || positionals.length > found.words.most || positionals.length < found.words.least) return undefined
    return { command: found, given, rest: { words: positionals, command } }
  } catch {
    return undefined
  }
}

const plain = (value: string | boolean | (string | boolean)[]): string | boolean | readonly string[] =>
  Array.isArray(value) ? value.map(String) : value

const run = async (): Promise<number> => {
  const read = readPlainly() ?? (await (await import('./commands/help.js')).readOrExplain(words, command))
  return typeof read === 'number' ? read : read.command.run(read.given, read.rest)
}

// The only exit. Handles that are still open (a client's stdin) must not keep a finished command alive.
run().then(
  code => process.exit(code),
  (error: unknown) => {
    const known = error instanceof CustomsError
    process.stderr.write(`mcp-customs: ${known ? error.message : `internal error: ${error instanceof Error ? error.message : String(error)}`}\n`)
    process.exit(known ? error.exitCode : 70)
  },
)

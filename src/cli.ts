#!/usr/bin/env node
import { readCommandLine } from '#cli/command-line.js'
import { tellClient } from '#cli/commands.js'
import { CustomsError, messageOf, visible } from '#relay/base/errors.js'

const run = async (): Promise<number> => {
  const words = process.argv.slice(2)
  const asked = await readCommandLine(words).catch((reason: unknown) => {
    if (words[0] === 'wrap') return tellClient(reason)
    throw reason
  })
  if (!('print' in asked)) return asked.command.run(asked.given, asked.rest)
  process.stdout.write(asked.print)
  return 0
}

// The process exits only here. Handles that are still open (a client's stdin) must not keep a finished
// command alive.
run().then(
  code => process.exit(code),
  (error: unknown) => {
    const known = error instanceof CustomsError
    process.stderr.write(
      `mcp-customs: ${known ? error.message : visible(`internal error: ${messageOf(error)}`)}\n`,
    )
    process.exit(known ? error.exitCode : 70)
  },
)

import { readServeFlags, serveFlags } from './serve-flags.js'
import { readShared, readTarget, sharedFlags, type Flag, type Given, type Rest } from './flags.js'
import { inspectFlags, readInspectFlags, readInspectTarget } from './inspect-flags.js'
import { lockFlags, readLockFlags } from './lock-flags.js'

/** A command: what it takes, and what it does. Its module is loaded when it is run. */
export interface Command {
  readonly name: string
  readonly usage: string
  readonly describe: string
  readonly flags: Readonly<Record<string, Flag>>
  /** How many words it takes besides the flags. */
  readonly words: { readonly least: number; readonly most: number }
  /** @returns the exit code */
  run(given: Given, rest: Rest): Promise<number>
}

const oneServer = { least: 0, most: 1 }

export const commands: readonly Command[] = [
  {
    name: 'wrap',
    usage: 'wrap [options] (-- COMMAND [ARG...] | URL)',
    describe: 'stand between a stdio client and one server: the drop-in for a desktop client\'s "command"',
    flags: sharedFlags,
    words: oneServer,
    run: async (given, rest) => (await import('./wrap.js')).wrap(readShared(given), readTarget(rest)),
  },
  {
    name: 'serve',
    usage: 'serve [options] (-- COMMAND [ARG...] | URL | --config FILE)',
    describe: 'stand between Streamable HTTP clients and one server, or every server of a file',
    flags: serveFlags,
    words: oneServer,
    run: async (given, rest) => {
      const http = readServeFlags(given)
      return (await import('./serve.js')).serve(readShared(given), http, readTarget(rest))
    },
  },
  {
    name: 'inspect',
    usage: 'inspect [options] (-- COMMAND [ARG...] | URL | FILE | --diff FILE FILE)',
    describe: 'list what one server offers, or what was saved of it, judge all of it, and report',
    flags: inspectFlags,
    words: { least: 0, most: 2 },
    run: async (given, rest) => {
      const flags = readInspectFlags(given)
      if (flags.diff) return (await import('./inspect-diff.js')).diffCommand(rest, flags)
      return (await import('./inspect.js')).inspectCommand(readShared(given), readInspectTarget(rest), flags)
    },
  },
  {
    name: 'lock',
    usage: 'lock [options] (-- COMMAND [ARG...] | URL | --config FILE)',
    describe: 'accept what a server offers, and write it down; or check that nothing differs from what was accepted',
    flags: lockFlags,
    words: oneServer,
    run: async (given, rest) => (await import('./lock.js')).lockCommand(readShared(given), readTarget(rest), readLockFlags(given)),
  },
  {
    name: 'audit',
    usage: 'audit verify FILE',
    describe: 'verify an audit log: name the first line that was changed, removed, moved or cut',
    flags: {},
    words: { least: 2, most: 2 },
    run: async (_given, { words }) => (await import('./audit.js')).audit(words),
  },
]

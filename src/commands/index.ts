import { readServeFlags, serveFlags } from './serve-flags.js'
import { readShared, readTarget, sharedFlags, type Flag, type Given, type Rest } from './flags.js'
import { inspectFlags, readInspectFlags } from './inspect-flags.js'
import { installFlags, readInstallFlags, readUninstallFlags, uninstallFlags } from './install-flags.js'

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
const noWords = { least: 0, most: 0 }

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
    usage: 'inspect [options] (-- COMMAND [ARG...] | URL)',
    describe: 'connect to one server, list what it offers, judge all of it, and report',
    flags: inspectFlags,
    words: oneServer,
    run: async (given, rest) => {
      const flags = readInspectFlags(given)
      return (await import('./inspect.js')).inspectCommand(readShared(given), readTarget(rest), flags)
    },
  },
  {
    name: 'audit',
    usage: 'audit verify FILE',
    describe: 'verify an audit log: name the first line that was changed, removed, moved or cut',
    flags: {},
    words: { least: 2, most: 2 },
    run: async (_given, { words }) => (await import('./audit.js')).audit(words),
  },
  {
    name: 'install',
    usage: 'install [options] [--client NAME|FILE]',
    describe: 'put mcp-customs in front of the servers of an MCP client, in its configuration; --check tells how things are',
    flags: installFlags,
    words: noWords,
    run: async (given, rest) => {
      const flags = readInstallFlags(given, rest)
      const [{ install }, { check }, { thisContext }] = await Promise.all([import('./install.js'), import('./install-check.js'), import('./install-context.js')])
      return flags.check ? check(flags, thisContext()) : install(flags, thisContext())
    },
  },
  {
    name: 'uninstall',
    usage: 'uninstall [options] [--client NAME|FILE]',
    describe: 'take mcp-customs out of the configuration of an MCP client again',
    flags: uninstallFlags,
    words: noWords,
    run: async (given, rest) => {
      const flags = readUninstallFlags(given, rest)
      const [{ uninstall }, { thisContext }] = await Promise.all([import('./install.js'), import('./install-context.js')])
      return uninstall(flags, thisContext())
    },
  },
]

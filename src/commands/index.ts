import type { Flags, Given, Rest } from './flag.js'
import { readFlags, readTarget, relayFlags } from './flags.js'
import { inspectFlags, readInspectFlags } from './inspect-flags.js'
import { learnFlags, readLearnFlags } from './learn-flags.js'
import { readReplayFlags, replayFlags } from './replay-flags.js'
import { serveFlags } from './serve-flags.js'

/** A command: what it takes, and what it does. Its module is loaded when it is run. */
export interface Command {
  readonly name: string
  /** What may stand behind the name, one line each. */
  readonly usage: readonly string[]
  readonly describe: string
  /** What may stand behind `mcp-customs`. */
  readonly examples: readonly string[]
  readonly flags: Flags
  /** How many words it takes besides the flags. */
  readonly words: { readonly least: number; readonly most: number }
  /** It is about a server: the first word that is no URL begins the server's own command line. */
  readonly server: boolean
  /** @returns the exit code */
  run(given: Given, rest: Rest): Promise<number>
}

const oneServer = { words: { least: 0, most: 1 }, server: true } as const

export const commands: readonly Command[] = [
  {
    name: 'wrap',
    usage: ['[options] [--] COMMAND [ARG...]', '[options] URL', '[options] --config FILE [--server NAME]'],
    describe: 'stand between a stdio client and one server: the drop-in for a desktop client\'s "command"',
    examples: [
      'wrap -- npx -y @modelcontextprotocol/server-filesystem /data',
      'wrap --header \'Authorization=Bearer ${env:TOKEN}\' https://mcp.example.com/mcp',
    ],
    flags: relayFlags,
    ...oneServer,
    run: async (given, rest) => (await import('./wrap.js')).wrap(readFlags(relayFlags, given), readTarget(rest)),
  },
  {
    name: 'serve',
    usage: ['[options] [--] COMMAND [ARG...]', '[options] URL', '[options] --config FILE'],
    describe: 'stand between Streamable HTTP clients and one server, or every server of a file',
    examples: ['serve --listen 127.0.0.1:7400 -- npx -y @modelcontextprotocol/server-everything', 'serve --config customs.yaml --token-file tokens.txt'],
    flags: serveFlags,
    ...oneServer,
    run: async (given, rest) => (await import('./serve.js')).serve(readFlags(serveFlags, given), readTarget(rest)),
  },
  {
    name: 'inspect',
    usage: ['[options] [--] COMMAND [ARG...]', '[options] URL', '[options] --config FILE [--server NAME]'],
    describe: 'connect to one server, list what it offers, judge all of it, and report',
    examples: ['inspect -- npx -y @modelcontextprotocol/server-filesystem /tmp', 'inspect --sarif https://mcp.example.com/mcp > customs.sarif'],
    flags: inspectFlags,
    ...oneServer,
    run: async (given, rest) =>
      (await import('./inspect.js')).inspectCommand(readFlags(inspectFlags, given), readTarget(rest), readInspectFlags(given)),
  },
  {
    name: 'replay',
    usage: ['[options] FILE...'],
    describe: 'run captures through the relay under other settings, and print what would change',
    examples: ['replay --policy strict capture.ndjson', 'replay --rule result/text=block --json capture.ndjson'],
    flags: replayFlags,
    words: { least: 1, most: Infinity },
    server: false,
    run: async (given, { words }) => (await import('./replay.js')).replay(readReplayFlags(given), words),
  },
  {
    name: 'learn',
    usage: ['[options] FILE...', '--watch [options] -- COMMAND [ARG...]', '--watch [options] URL'],
    describe: 'propose schemas for tools that declare none, from what captures show of their results',
    examples: ['learn -o contracts capture.ndjson', 'learn --watch -- npx -y @modelcontextprotocol/server-memory'],
    flags: learnFlags,
    words: { least: 0, most: Infinity },
    server: false,
    run: async (given, rest) => (await import('./learn.js')).learnCommand(readLearnFlags(given), readFlags(learnFlags, given), rest, given.has('watch')),
  },
  {
    name: 'audit',
    usage: ['verify FILE'],
    describe: 'verify an audit log: name the first line that was changed, removed, moved or cut',
    examples: ['audit verify demo.ndjson', 'audit verify ~/.local/state/mcp-customs/server-filesystem.ndjson'],
    flags: {},
    words: { least: 2, most: 2 },
    server: false,
    run: async (_given, { words }) => (await import('./audit.js')).audit(words),
  },
  {
    name: 'completion',
    usage: [''],
    describe: 'print the script that lets your shell (bash, zsh) complete commands and options',
    examples: ['completion >> ~/.bashrc', 'completion >> ~/.zshrc'],
    flags: {},
    words: { least: 0, most: 0 },
    server: false,
    run: async () => (await import('./explain.js')).completion(),
  },
]

import {
  auditFlags, checkAction, readReportFlags, readShowFlags, readUiFlags, readVerifyFlags, toolsFlags, uiFlags,
} from './flags/audit.js'
import { badUsage } from '#relay/base/errors.js'
import { valuesOf, type Flags, type Given, type Rest } from './flag.js'
import { readFlags, readTarget, serveFlags, wrapFlags } from './flags/relay.js'
import { inspectFlags, readInspectFlags, readInspectTarget, saved } from './flags/inspect.js'
import {
  installFlags, readInstallFlags, readRelaxFlags, readUninstallFlags, relaxFlags, uninstallFlags,
} from './flags/install.js'
import { learnFlags, ownLearnFlags, readReplayFlags, replayFlags } from './flags/learn.js'
import { lockFlags, readLockFlags } from './flags/lock.js'
import { loginFlags, logoutFlags, readLoginFlags, readLogoutFlags } from './flags/login.js'

/** A command. Its module is loaded when it runs. */
export interface Command {
  readonly name: string
  /** Arguments after the name, one line for each form. */
  readonly usage: readonly string[]
  readonly describe: string
  /** Command lines without `mcp-customs`. */
  readonly examples: readonly string[]
  readonly flags: Flags
  /** How many words it takes besides the flags. */
  readonly words: { readonly least: number; readonly most: number }
  /** The command takes a server: the first word that is not a URL begins the server's own command line. */
  readonly server: boolean
  /** Words that name a saved list; they do not begin the server's command line. */
  readonly files?: RegExp
  /** What completes its words. */
  readonly completes?: () => Promise<readonly string[]>
  /** @returns the exit code */
  run(given: Given, rest: Rest): Promise<number>
}

/** A client that starts `wrap` shows its user what `initialize` gets, and not stderr. @throws the reason */
export const tellClient = async (reason: unknown): Promise<never> =>
  (await import('#relay/host/not-started.js')).answerInitialize(reason)

const oneServer = { words: { least: 0, most: 1 }, server: true } as const
/** The period that a gateway's page shows, in milliseconds. */
const dayMs = 86_400_000

/** `audit ACTION [FILE|FOLDER…]` @throws CustomsError */
export const runAudit = async (given: Given, [action = '', ...paths]: readonly string[]): Promise<number> => {
  checkAction(action, given)
  const { auditReport, auditVerify, placesOf } = await import('#desk/audit/command.js')
  const now = Date.now()
  if (action === 'verify') return auditVerify(paths, readVerifyFlags(given))
  if (action === 'report') return auditReport(placesOf(paths), readReportFlags(given, now))
  return (await import('#desk/audit/show.js')).auditShow(placesOf(paths), readShowFlags(given, now))
}

const noWords = { words: { least: 0, most: 0 }, server: false } as const

export const commands: readonly Command[] = [
  {
    name: 'wrap',
    usage: [
      '[options] [--] COMMAND [ARG...]', '[options] URL', '[options] --config FILE [--server NAME]',
      '[options] --config FILE --merge',
    ],
    describe: 'stand between a stdio client and one server: the drop-in for a desktop client\'s "command"',
    examples: [
      'wrap -- npx -y @modelcontextprotocol/server-filesystem /data',
      'wrap --header \'Authorization=Bearer ${env:TOKEN}\' https://mcp.example.com/mcp',
    ],
    flags: wrapFlags,
    ...oneServer,
    run: async (given, rest) => {
      const read = Promise.resolve().then(() => [readFlags(wrapFlags, given), readTarget(rest)] as const)
      const [settings, target] = await read.catch(tellClient)
      if (given.get('merge') !== true) return (await import('#relay/host/wrap.js')).wrap(settings, target)
      return (await import('#relay/host/merge/wrapped.js')).wrapMerged(settings, target)
    },
  },
  {
    name: 'serve',
    usage: ['[options] [--] COMMAND [ARG...]', '[options] URL', '[options] --config FILE'],
    describe: 'stand between Streamable HTTP clients and one server, or every server of a file',
    examples: [
      'serve --listen 127.0.0.1:7400 -- npx -y @modelcontextprotocol/server-everything',
      'serve --config customs.yaml --token-file tokens.txt',
    ],
    flags: serveFlags,
    ...oneServer,
    run: async (given, rest) =>
      (await import('#relay/host/serve.js')).serve(
        readFlags(serveFlags, given), readTarget(rest),
        async () => (await import('#desk/audit/ui.js')).openLivePage(dayMs),
      ),
  },
  {
    name: 'inspect',
    usage: [
      '[options] [--] COMMAND [ARG...]', '[options] URL', '[options] --config FILE [--server NAME]',
      '[options] FILE', '--diff [--json] FILE FILE',
    ],
    describe: 'list what one server offers, or what was saved of it (FILE: .json, .jsonl, .ndjson), judge ' +
      'all of it, and report',
    examples: [
      'inspect -- npx -y @modelcontextprotocol/server-filesystem /tmp',
      'inspect --diff monday.json tuesday.json',
    ],
    flags: inspectFlags,
    words: { least: 0, most: 2 },
    server: true,
    files: saved,
    run: async (given, rest) => {
      const flags = readInspectFlags(given)
      if (flags.diff) return (await import('#desk/inspect/command.js')).diffCommand(rest, flags)
      return (await import('#desk/inspect/command.js')).inspectCommand(
        readFlags(inspectFlags, given), readInspectTarget(rest), flags,
      )
    },
  },
  {
    name: 'lock',
    usage: [
      '[options] [--] COMMAND [ARG...]', '[options] URL', '[options] --config FILE [--server NAME]',
      '[options] --client NAME|FILE [--server NAME]',
    ],
    describe:
      'accept what a server offers, and write it down; or check that nothing differs from what was accepted',
    examples: [
      'lock -- npx -y @modelcontextprotocol/server-filesystem /data', 'lock --check --client claude-desktop',
    ],
    flags: lockFlags,
    ...oneServer,
    run: async (given, rest) => {
      const flags = readLockFlags(given, rest)
      const [{ lockCommand }, { thisContext }] =
        await Promise.all([import('#desk/lock/command.js'), import('./context.js')])
      return lockCommand(readFlags(lockFlags, given), readTarget(rest), flags, thisContext())
    },
  },
  {
    name: 'install',
    usage: ['[options] [--client NAME|FILE]', '--check [options] [--client NAME|FILE]'],
    describe: 'put mcp-customs in front of the servers of an MCP client, in its configuration; --check ' +
      'shows which servers run under it, and what is wrong',
    examples: ['install --client claude-desktop --lock', 'install --check'],
    flags: installFlags,
    ...noWords,
    run: async (given, rest) => {
      const flags = readInstallFlags(given, rest)
      if (flags.merge) {
        const [{ installMerged }, own] = await Promise.all([import('#desk/install/merge.js'), import('./context.js')])
        return installMerged(flags, own.thisContext())
      }
      const [{ install }, { check }, { thisContext }] = await Promise.all([
        import('#desk/install/command.js'), import('#desk/install/check.js'), import('./context.js'),
      ])
      return flags.check ? check(flags, thisContext()) : install(flags, thisContext())
    },
  },
  {
    name: 'uninstall',
    usage: ['[options] [--client NAME|FILE]'],
    describe: 'take mcp-customs out of the configuration of an MCP client again',
    examples: ['uninstall --client claude-desktop', 'uninstall --client ./mcp.json --server files'],
    flags: uninstallFlags,
    ...noWords,
    run: async (given, rest) => {
      const flags = readUninstallFlags(given, rest)
      const [{ uninstall }, { thisContext }] =
        await Promise.all([import('#desk/install/command.js'), import('./context.js')])
      return uninstall(flags, thisContext())
    },
  },
  {
    name: 'relax',
    usage: ['[options] SERVER [TOOL]'],
    describe: 'let a tool of a careless server work, or all its tools: what it gets wrong is mended, in a ' +
      'client\'s entry or a configuration file',
    examples: ['relax shop get_price', 'relax shop --config customs.yaml', 'relax shop get_price --undo'],
    flags: relaxFlags,
    words: { least: 1, most: 2 },
    server: false,
    run: async (given, { words: [server = '', tool] }) => {
      const flags = readRelaxFlags(given)
      const [{ relax }, { thisContext }] =
        await Promise.all([import('#desk/install/relax.js'), import('./context.js')])
      return relax(server, tool, flags, thisContext())
    },
  },
  {
    name: 'replay',
    usage: ['[options] FILE...'],
    describe: 'run captures through the relay under other settings, and print what would change',
    examples: [
      'replay --policy strict capture.ndjson', 'replay --rule result/text=block --json capture.ndjson',
    ],
    flags: replayFlags,
    words: { least: 1, most: Infinity },
    server: false,
    run: async (given, { words }) =>
      (await import('#desk/replay/command.js')).replay(readReplayFlags(given), words),
  },
  {
    name: 'learn',
    usage: ['[options] FILE...', '--watch [options] -- COMMAND [ARG...]', '--watch [options] URL'],
    describe: 'propose schemas for tools that declare none, from what captures show of their results',
    examples: [
      'learn -o contracts capture.ndjson', 'learn --watch -- npx -y @modelcontextprotocol/server-memory',
    ],
    flags: learnFlags,
    words: { least: 0, most: Infinity },
    server: false,
    run: async (given, rest) => (await import('#desk/learn/command.js')).learnCommand(
      valuesOf(ownLearnFlags, given), readFlags(learnFlags, given), readTarget(rest), rest.words,
    ),
  },
  {
    name: 'audit',
    usage: [
      'show [options] [FILE | FOLDER]...', 'report [options] [FILE | FOLDER]...',
      'verify [options] (FILE | FOLDER)...',
    ],
    describe: 'show what audit logs hold (without FILE: those of this user\'s relays), make a page of it, ' +
      'or verify that no line was changed, removed, moved or cut',
    examples: [
      'audit show --verdict block --since 2h', 'audit show -f --server files --tool "write_*"',
      'audit report -o today.html --since 2026-11-21', 'audit report --key audit.pub audit.ndjson',
      'audit verify ~/.local/state/mcp-customs', 'audit verify --key audit.pub audit.ndjson',
    ],
    flags: auditFlags,
    words: { least: 1, most: Infinity },
    server: false,
    run: async (given, { words }) => runAudit(given, words),
  },
  {
    name: 'tools',
    usage: ['[options] [SERVER]'],
    describe: 'list the tools that clients see of each server, which are missing or changed, and why (by ' +
      'the audit logs)',
    examples: ['tools', 'tools files'],
    flags: toolsFlags,
    words: { least: 0, most: 1 },
    server: false,
    run: async (given, { words: [server] }) =>
      (await import('#desk/audit/tools.js')).tools(server, valuesOf(toolsFlags, given)),
  },
  {
    name: 'ui',
    usage: ['[options] [FOLDER]'],
    describe: 'open a live page over the audit logs of this user\'s relays, or of those in a folder: it ' +
      'listens on loopback, and only reads',
    examples: ['ui', 'ui --window 7d ./logs'],
    flags: uiFlags,
    words: { least: 0, most: 1 },
    server: false,
    run: async (given, { words: [folder] }) => {
      const flags = readUiFlags(given)
      return (await import('#desk/audit/ui.js')).ui(folder, flags)
    },
  },
  {
    name: 'login',
    usage: ['[options] URL', '[options] --config FILE [--server NAME]', '--status [--json]'],
    describe: 'log in at a server that asks for OAuth, before a relay does it; --status lists the logins',
    examples: ['login https://mcp.example.com/mcp', 'login --no-browser https://mcp.example.com/mcp'],
    flags: loginFlags,
    words: { least: 0, most: 1 },
    server: false,
    run: async (given, rest) => {
      const flags = readLoginFlags(given, rest)
      return (await import('#desk/login/command.js')).login(readFlags(loginFlags, given), flags, readTarget(rest))
    },
  },
  {
    name: 'logout',
    usage: ['URL', '--all'],
    describe: 'end a login: its tokens are revoked, where the issuer can, and forgotten',
    examples: ['logout https://mcp.example.com/mcp', 'logout --all'],
    flags: logoutFlags,
    words: { least: 0, most: 1 },
    server: false,
    run: async (given, rest) => {
      const url = readLogoutFlags(given, rest)
      return (await import('#desk/login/command.js')).logout(url)
    },
  },
  {
    name: 'explain',
    usage: ['[RULE | FAMILY | CODE]'],
    describe: 'tell what a rule or an error code means, whose fault it is, what to do, and an example; ' +
      'without a word, list them',
    examples: ['explain result/schema', 'explain -31001'],
    flags: {},
    words: { least: 0, most: 1 },
    server: false,
    completes: async () => (await import('#desk/explain/command.js')).topics(),
    run: async (_given, { words, command = [] }) => {
      // A code such as -31001 stands behind a `--` of ours.
      const [word, ...more] = [...words, ...command]
      const { explainCommand } = await import('#desk/explain/command.js')
      return more.length > 0 ? badUsage('explain: one rule or code at a time') : explainCommand(word)
    },
  },
  {
    name: 'completion',
    usage: [''],
    describe: 'print the script that lets your shell (bash, zsh, fish) complete commands and options',
    examples: ['completion >> ~/.bashrc', 'completion > ~/.config/fish/completions/mcp-customs.fish'],
    flags: {},
    ...noWords,
    run: async () => (await import('./help.js')).completion(),
  },
]

import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { stringify } from 'yaml'
import { CapturedCalls, heardIn } from '#relay/capture/calls.js'
import { captureLinesOf } from '#relay/capture/read.js'
import { badUsage, cannotWrite } from '#relay/base/errors.js'
import { type Style, styleFor } from '#desk/terminal/style.js'
import { LearntCounts } from './counts.js'
import { type Contract, LearntTool, propose } from './tool.js'
import { clip } from '#relay/protocol/quote.js'
import type { DataObject } from '#relay/protocol/unmetered.js'
import type { Target } from '#relay/config/target.js'
import type { RelaySettings } from '#relay/host/settings.js'
import { table } from '#desk/terminal/output.js'
import type { Witness } from '#relay/host/guard.js'
import type { LearnFlags } from '#cli/flags/learn.js'

/** A tool and the contract proposed for it; none when all its results were errors or it declares its own. */
export interface Learnt {
  readonly server: string
  readonly tool: string
  readonly declares: boolean
  readonly contract: Contract | undefined
}

/**
 * @returns the exit code
 * @throws CustomsError
 */
export const learnCommand = async (
  flags: LearnFlags, shared: RelaySettings, target: Target, files: readonly string[],
): Promise<number> => {
  if (flags.watch) return (await import('#relay/host/wrap.js')).wrap(shared, target, watch())
  if (target.command !== undefined) return badUsage('a command goes with --watch: `learn --watch -- COMMAND`')
  if (files.length === 0) {
    return badUsage('which captures? (wrap and serve write one with --capture FILE)')
  }
  return learn(flags, files)
}

/**
 * `learn FILE…`: derives schemas from the captured results of each tool.
 * @returns 0
 * @throws CustomsError BAD_USAGE
 */
export const learn = (flags: LearnFlags, files: readonly string[]): number => {
  const learnt = learnFrom(files, flags)
  const written = flags.output === undefined ? 0 : write(flags.output, learnt)
  const style = styleFor(process.stdout, process.env)
  const text =
    flags.json ? `${JSON.stringify(learnt, null, 2)}\n` : report(learnt, flags.output, written, style)
  process.stdout.write(text)
  return 0
}

const learnFrom = (
  files: readonly string[], { all, strict }: Pick<LearnFlags, 'all' | 'strict'>,
): readonly Learnt[] => {
  const declaring = new Set<string>()
  const tools =
    new Map<string, { readonly server: string; readonly tool: string; readonly results: LearntTool }>()
  for (const heard of heardIn(captureLinesOf(files))) {
    const { server, tool } = heard
    const key = JSON.stringify([server, tool])
    if (heard.kind === 'declared') {
      if (heard.hasOutputSchema) declaring.add(key)
      continue
    }
    const known = tools.get(key) ?? { server, tool, results: new LearntTool() }
    tools.set(key, known)
    known.results.see(heard.result)
  }
  return [...tools].sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, { server, tool, results }]) => {
    const declares = declaring.has(key)
    return { server, tool, declares, contract: declares && !all ? undefined : results.contract({ strict }) }
  })
}

/** @returns how many files were written */
const write = (folder: string, learnt: readonly Learnt[]): number => {
  const servers = new Map<string, Record<string, DataObject>>()
  let count = 0
  for (const { server, tool, contract } of learnt) {
    if (contract === undefined) continue
    const { files, setting } = propose(server, tool, contract)
    for (const { path, schema } of files) {
      count += save(join(folder, path), `${JSON.stringify(schema, null, 2)}\n`)
    }
    servers.set(server, { ...servers.get(server), [tool]: setting })
  }
  if (servers.size === 0) return 0
  const tools = Object.fromEntries([...servers].map(([server, settings]) => [server, { tools: settings }]))
  const review = '# Review the schemas, then copy what you want into the configuration.\n'
  return count + save(join(folder, 'learnt.yaml'), review + stringify({ servers: tools }))
}

const save = (file: string, text: string): number => {
  try {
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text)
    return 1
  } catch (cause) {
    throw cannotWrite('BAD_USAGE', file, cause)
  }
}

const report = (
  learnt: readonly Learnt[], folder: string | undefined, written: number, style: Style,
): string => {
  if (learnt.length === 0) return 'no call of a tool is in the capture\n'
  const rows = learnt.map(({ server, tool, declares, contract }) => [
    server, tool, String(contract?.calls ?? ''), String(contract?.errors ?? ''),
    String(contract?.members ?? ''),
    contract === undefined ? (declares ? 'declares its own' : 'errors only') : contract.outputSchema
      ? `outputSchema, ${contract.source}`
      : `resultSchema, ${contract.source}`,
    contract?.sureness ?? '',
  ].map(clip))
  const said = written === 0
    ? (folder === undefined
        ? 'Nothing was written: name a folder with -o DIR.'
        : 'There is nothing to write.')
    : `${written} files are in ${folder}: review them, and name them in the configuration (learnt.yaml ` +
      'shows how).'
  const titles = ['server', 'tool', 'calls', 'errors', 'members', 'contract', 'sure']
  return `${table(titles, rows, style)}\n\n${said}\n`
}

/** Counts tools' results, and reports on stderr at the session's end which tools could have a contract. */
export const watch = (): Witness => ({
  record: ({ judgement: { server }, stateless }) => {
    const [calls, counts] = [new CapturedCalls(stateless), new LearntCounts()]
    return {
      asked: () => undefined,
      handled: event => {
        if (event.type === 'session-ended') process.stderr.write(reportOf(server, counts.report()))
        if (event.type !== 'frame-received') return
        for (const heard of calls.onFrame(event.from, event.exchange.name, event.frame)) {
          if (heard.kind === 'declared') counts.declared(heard.tool, heard.hasOutputSchema)
          else counts.answered(heard.tool, heard.result)
        }
      },
    }
  },
  close: () => undefined,
})

const reportOf = (server: string, lines: readonly string[]): string =>
  lines.length === 0
    ? `mcp-customs: ${server}: no tool that declares nothing was called\n`
    : `mcp-customs: ${server}: tools that could have a contract (capture their calls, then ` +
      `\`learn\`)\n${lines.map(line => `  ${line}\n`).join('')}`

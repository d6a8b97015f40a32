import { diffLines } from 'diff'
import { planRelax } from './clients/plan.js'
import { readRecord, recordFile } from './clients/record.js'
import { readFileText, save } from './clients/save.js'
import { readEntries } from './clients/steps.js'
import { readConfiguration } from '#relay/config/read.js'
import { everyTool } from '#relay/core/options.js'
import { badUsage, CustomsError, pathText, wordsText } from '#relay/base/errors.js'
import { plainLines } from '#relay/base/plain.js'
import type { Context } from '#desk/terminal/context.js'
import { recognizerOf } from './recognizer.js'
import { judgeSchema } from '#relay/host/server/setup.js'
import { changeFiles } from './command.js'
import type { RelaxFlags } from '#cli/flags/install.js'
import { noSuchServer } from './servers.js'
import { readableFiles } from './sources.js'

/**
 * `relax`: writes into a client's entry, or a configuration file, that what a careless server gets wrong is
 * mended, for one tool or all; `--undo` takes it out.
 * @returns as `install`
 * @throws CustomsError
 */
export const relax = async (
  server: string, tool: string = everyTool, flags: RelaxFlags, context: Context,
): Promise<number> => {
  if (flags.config !== undefined) return relaxInFile(flags.config, server, tool, flags, context)
  const files = flags.client === undefined ? await filesWith(server, context) : undefined
  return changeFiles({ ...flags, server: [server], all: false }, context, {
    plan: (file, wanted) => planRelax(file, wanted, tool, flags.undo),
    launcher: undefined, lock: undefined, files,
    undo: ['relax', server, ...(tool === everyTool ? [] : [tool]), ...(flags.undo ? [] : ['--undo'])],
  })
}

/** The clients' files that have a server of this name. */
const filesWith = async (server: string, context: Context) => {
  const recognizer = recognizerOf(await readRecord(recordFile(context.machine)), context)
  const files = (await readableFiles(context.machine))
    .map(file => ({ file, names: readEntries(file, recognizer).map(({ name }) => name) }))
  const found = files.filter(({ names }) => names.includes(server))
  return found.length > 0
    ? found.map(({ file }) => file) : noSuchServer(server, files.flatMap(({ names }) => names))
}

const relaxInFile = async (
  file: string, server: string, tool: string, { undo, yes }: RelaxFlags, { dialogue, print, style }: Context,
): Promise<number> => {
  const { servers } = await readConfiguration(file, { environment: process.env, judgeSchema })
  const known = servers.get(server) ?? noSuchServer(server, [...servers.keys()])
  const before = await readFileText(file)
  if (before === undefined) throw new CustomsError('BAD_CONFIG', `${file}: is not there`)
  if ((known.tools.get(tool)?.relaxed === true) !== undo) {
    await print(`Nothing to do: it is ${undo ? 'not relaxed' : 'relaxed already'}.\n`)
    return 0
  }
  const path = ['servers', server, 'tools', tool, 'relaxed']
  const { changed } = await import('./yaml-change.js')
  const after = changed(before, path, undo)
  if (after === undefined) {
    return badUsage(`${file}: ${path.slice(0, -1).join('.')} cannot be changed: write relaxed: true by hand`)
  }
  for (const { added, removed, value } of diffLines(before, after)) {
    for (const line of added || removed ? plainLines(value.replace(/\n$/, ''), 200, 2000) : [])
      await print(added ? style.good(`  + ${line}\n`) : style.bad(`  - ${line}\n`))
  }
  if (!yes && (await dialogue?.confirm(`Write this to ${pathText(file)}?`)) !== true) {
    await print(dialogue === undefined
      ? 'Nothing was written: there is nobody to ask; give --yes to write it.\n' : 'Nothing was written.\n')
    return 1
  }
  await print(`Written. What the file held before is in ${pathText(await save(file, before, after))}\n`)
  const words = ['mcp-customs', 'relax', server, ...(tool === everyTool ? [] : [tool]), '--config', file]
  await print(`Undo it with: ${wordsText([...words, ...(undo ? [] : ['--undo'])])}\n`)
  return 0
}

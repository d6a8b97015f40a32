import { existsSync } from 'node:fs'
import type { Entry } from '../clients/entry.js'
import { doubtOf } from '../clients/find.js'
import { problemsOf, type Surroundings } from '../clients/examine.js'
import { optionOf } from '../clients/own-command.js'
import { readEntries } from '../clients/plan.js'
import { readRecord, recordFile } from '../clients/record.js'
import { isWrapped } from '../clients/unwrap.js'
import { CustomsError } from '../errors.js'
import type { Style } from '../inspect/style.js'
import type { InstallFlags } from './install-flags.js'
import type { InstallContext } from './install-context.js'
import { nameOf } from './install-preview.js'
import { allFiles, readFound } from './install-sources.js'
import { knowledgeOf } from './installation.js'

/**
 * `install --check`: which client has which servers, wrapped or not, with which policy, and what is wrong.
 * @returns 1 when something is wrong, else 0
 * @throws CustomsError BAD_USAGE
 */
export const check = async (flags: InstallFlags, { machine, installation, print, style }: InstallContext): Promise<number> => {
  const files = await allFiles(flags, machine)
  const knowledge = knowledgeOf(await readRecord(recordFile(machine)))
  const surroundings: Surroundings = { machine, exists: existsSync, temporary: installation.temporary }
  if (files.length === 0) await print('No configuration of a known client was found.\n')
  let wrong = 0
  for (const found of files) {
    const doubt = await doubtOf(found, machine)
    const problems = doubt === undefined ? [] : [doubt]
    await print(`${style.title(found.client?.title ?? found.file)}${found.client === undefined ? '' : `: ${found.file}`}\n`)
    try {
      const file = await readFound(found)
      const entries = readEntries(file, knowledge).filter(({ name }) => flags.servers.length === 0 || flags.servers.includes(name))
      if (entries.length === 0) await print('  has no servers\n')
      const width = Math.min(40, Math.max(...entries.map(({ name, scope }) => nameOf(name, scope).length)))
      for (const entry of entries) {
        const own = problemsOf(entry, surroundings)
        wrong += own.length
        await print(describe(entry, width, own, style))
      }
    } catch (error) {
      if (!(error instanceof CustomsError)) throw error
      problems.push(error.message)
    }
    wrong += problems.length
    for (const problem of problems) await print(`  ${style.bad(`wrong: ${problem}`)}\n`)
  }
  return wrong === 0 ? 0 : 1
}

const describe = ({ name, scope, server, disabled }: Entry, width: number, problems: readonly string[], style: Style): string => {
  const state = disabled ? ', disabled' : ''
  const line = `  ${nameOf(name, scope).padEnd(width)}  `
  if (server.kind === 'unknown') return `${line}${style.warn(`not wrapped: ${server.reason}${state}`)}\n`
  if (server.kind !== 'command' || !isWrapped(server)) return `${line}not wrapped${state}\n${wrongs(problems, style)}`
  const { options, launcher } = server.own
  const policy = optionOf(options, 'config') === undefined ? `policy ${optionOf(options, 'policy') ?? 'standard'}` : `by ${optionOf(options, 'config') ?? ''}`
  return `${line}${style.good('wrapped')}, ${policy}${state}  ${style.dim(launcher.slice(0, -1).join(' '))}\n${wrongs(problems, style)}`
}

const wrongs = (problems: readonly string[], style: Style): string => problems.map(problem => `    ${style.bad(`wrong: ${problem}`)}\n`).join('')

import { pathsOf, type Machine } from '#relay/base/platform/machine.js'
import type { ServerEntry } from './entry.js'
import { innermost, isPassing, optionOf, optionsOf } from '#relay/base/own-command.js'
import { isTable, memberOf } from './tree.js'
import { isWrapped, type WrappedServer } from './unwrap.js'
import { isOurVariable, readReference } from './wrap.js'

export interface Surroundings {
  readonly machine: Machine
  readonly exists: (path: string) => boolean
  /** Temporary folders. */
  readonly temporary: readonly string[]
}

/** The problems of an entry, present and expected, as one line each. */
export const entryProblems = ({ server }: ServerEntry, surroundings: Surroundings): readonly string[] => {
  if (server.kind !== 'command') return []
  const { exists, machine } = surroundings
  const isGone = (path: string | undefined) =>
    path !== undefined && pathsOf(machine).isAbsolute(path) && !exists(path)
  if (!isWrapped(server)) {
    return isGone(server.words[0]) ? [`its command ${server.words[0] ?? ''} is not there`] : []
  }
  const { own, words } = server
  const program = words[innermost(own).target]
  const starts = own.launcher.slice(0, -1)
  return [
    ...starts.filter(isGone).map(path => `${path} is not there any more: run install again`),
    ...starts.filter(path => !isGone(path) && isPassing(path, surroundings.temporary)).map(path =>
      `${path} is in a temporary folder or a cache, which is emptied: uninstall it, copy it to a folder that stays, ` +
        'and run install from there'),
    ...(own.inner ? ['wrapped twice: uninstall takes off both'] : []),
    ...['config', 'policy', 'trust-list'].flatMap(name => missingFile(server, name, isGone)),
    ...(own.remote ? missingVariables(server) : []),
    ...(isGone(program) ? [`its command ${program ?? ''} is not there`] : []),
  ]
}

const missingFile = (
  { own: { options } }: WrappedServer, name: string, isGone: (path: string) => boolean,
): readonly string[] => {
  const file = optionOf(options, name)
  return file !== undefined && isGone(file) ? [`the file of --${name}, ${file}, is not there`] : []
}

const missingVariables = ({ own, table }: WrappedServer): readonly string[] => {
  const env = memberOf(table, 'env')
  const named = optionsOf(own.options, 'header').flatMap(option => readReference(option) ?? [])
  const missing = named.filter(({ bearer, variable }) =>
    !bearer && isOurVariable(variable) && !(env && isTable(env) && memberOf(env.value, variable)))
  return missing.map(({ header, variable }) =>
    `its header ${header} is read from ${variable}, which its env does not have`)
}

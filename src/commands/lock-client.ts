import { readEntries } from '../clients/plan.js'
import { readRecord, recordFile } from '../clients/record.js'
import { suggestion } from '../config/suggestion.js'
import { CustomsError } from '../errors.js'
import { plain } from '../inspect/plain.js'
import { folderOf, lockFileOf, setUpEntry } from './client-servers.js'
import type { Context } from './context.js'
import { nameOf } from './install-preview.js'
import { chooseFiles } from './install-sources.js'
import { knowledgeOf } from './installation.js'
import type { ToLock } from './lock.js'
import type { LockFlags } from './lock-flags.js'

/**
 * The servers of a client's configuration, under mcp-customs or not. What is disabled or cannot be read is left out, and named.
 * @param server the only one that is wanted
 * @throws CustomsError
 */
export const clientServers = async (client: string, server: string | undefined, { project, file: given }: LockFlags, { machine, tell }: Context): Promise<readonly ToLock[]> => {
  const files = await chooseFiles({ client, project }, machine, undefined)
  const knowledge = knowledgeOf(await readRecord(recordFile(machine)))
  const entries = (files ?? []).flatMap(file => readEntries(file, knowledge).map(entry => ({ file, entry })))
  const wanted = entries.filter(({ entry: { name } }) => server === undefined || name === server)
  if (wanted.length === 0) {
    const names = entries.map(({ entry: { name } }) => plain(name))
    throw new CustomsError('BAD_USAGE', server === undefined ? `${client}: has no servers` : `--server ${JSON.stringify(server)}: no such server${suggestion(server, names)} (there is: ${names.join(', ') || 'none'})`)
  }
  const toLock: ToLock[] = []
  for (const { file, entry } of wanted) {
    const leftOut = (reason: string) => tell(`${nameOf(entry.name, entry.scope)} is left out: ${plain(reason, 300)}`)
    if (entry.disabled && server === undefined) {
      leftOut('is disabled')
      continue
    }
    try {
      const { configuration, servers } = await setUpEntry(entry, folderOf(entry, file))
      toLock.push(...servers.map(setup => ({ file: lockFileOf(entry, file, given), setup, configuration })))
    } catch (error) {
      if (!(error instanceof CustomsError) || server !== undefined) throw error
      leftOut(error.message)
    }
  }
  return toLock
}

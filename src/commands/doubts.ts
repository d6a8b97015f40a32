import { canStart } from '../transport/process/spawn.js'
import type { Configuration } from '../config/configuration.js'
import { CustomsError } from '../errors.js'
import type { Setup } from './setup.js'
import { commandLineOf } from './upstream.js'

const loopback: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '::1'])

/**
 * What can be carried out, and is likely not what was meant; a line each.
 * @throws CustomsError CANNOT_START when none of the servers can be started
 */
export const doubtsAbout = ({ configuration: { listen, tokens }, servers }: Setup): readonly string[] => {
  const missing = servers.flatMap(({ server }) => ('url' in server || canStart(commandLineOf(server)) ? [] : [server]))
  const [first] = missing
  if (first !== undefined && missing.length === servers.length) throw new CustomsError('CANNOT_START', cannotStart(first.command[0]))
  const who = strangersAt(listen)
  return [
    ...missing.map(({ name, command: [program] }) => `servers.${name}: ${cannotStart(program)}`),
    ...(tokens.length === 0 && who !== undefined ? [`${who}, and no token is asked for: name some with --token-file or auth.tokens`] : []),
  ]
}

const cannotStart = (program: string): string => `cannot start ${JSON.stringify(program)}: command not found`

/** What is open to more than one user of this machine. */
const strangersAt = (listen: Configuration['listen']): string | undefined => {
  if ('socket' in listen) return (listen.mode & 0o002) === 0 ? undefined : `${listen.socket} is open to every user of this machine`
  return loopback.has(listen.host) ? undefined : `${listen.host} is open to the network`
}

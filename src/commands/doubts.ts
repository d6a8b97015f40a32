import { canStart } from '../transport/process/spawn.js'
import { CustomsError } from '../errors.js'
import type { Setup } from './setup.js'
import { commandLineOf } from './upstream.js'

const loopback: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '::1'])

/**
 * What can be carried out, and is likely not what was meant; a line each.
 * @throws CustomsError CANNOT_START when none of the servers can be started
 */
export const doubtsAbout = ({ configuration: { listen: { host }, tokens }, servers }: Setup): readonly string[] => {
  const missing = servers.flatMap(({ server }) => ('url' in server || canStart(commandLineOf(server)) ? [] : [server]))
  const [first] = missing
  if (first !== undefined && missing.length === servers.length) throw new CustomsError('CANNOT_START', cannotStart(first.command[0]))
  return [
    ...missing.map(({ name, command: [program] }) => `servers.${name}: ${cannotStart(program)}`),
    ...(tokens.length === 0 && !loopback.has(host) ? [`${host} is open to the network, and no token is asked for: name some with --token-file or auth.tokens`] : []),
  ]
}

const cannotStart = (program: string): string => `cannot start ${JSON.stringify(program)}: command not found`

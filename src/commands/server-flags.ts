import { resolve } from 'node:path'
import type { ProcessServer, RemoteServer, ServerConfiguration } from '../config/configuration.js'
import type { Environment } from '../config/environment.js'
import { parseHeaders, parseVariables } from '../config/pairs.js'
import { Problem, wayTo } from '../config/problem.js'
import { CustomsError } from '../errors.js'
import type { SharedFlags } from './flags.js'

/**
 * The server that is meant, with what `--header`, `--ca` and `--env` say of it.
 * @throws CustomsError BAD_USAGE
 */
export const withFlags = (servers: readonly ServerConfiguration[], flags: SharedFlags, environment: Environment): readonly ServerConfiguration[] => {
  const [server, ...others] = servers
  if (server === undefined || others.length > 0) return refuse('--header, --ca and --env are for one server: choose it with --server')
  return ['url' in server ? remote(server, flags, environment) : local(server, flags, environment)]
}

const remote = (server: RemoteServer, { header, ca, env }: SharedFlags, environment: Environment): RemoteServer => {
  if (env.length > 0) return refuse('--env goes with a command, not with a URL')
  return {
    ...server,
    headers: new Map([...server.headers, ...at('header', () => parseHeaders(header, environment))]),
    tls: ca === undefined ? server.tls : { ca: resolve(ca), client: server.tls?.client },
  }
}

const local = (server: ProcessServer, { header, ca, env }: SharedFlags, environment: Environment): ProcessServer => {
  if (header.length > 0 || ca !== undefined) return refuse(`--${ca === undefined ? 'header' : 'ca'} goes with a URL, not with a command`)
  return { ...server, env: new Map([...server.env, ...at('env', () => parseVariables(env, environment))]) }
}

/** The value is not quoted: it may be a secret. */
const at = <Read>(flag: string, read: () => Read): Read => {
  try {
    return read()
  } catch (error) {
    throw error instanceof Problem
      ? new CustomsError('BAD_USAGE', `--${flag}${error.keys.length === 0 ? '' : ` ${wayTo(error.keys)}`}: ${error.reason}`, { cause: error })
      : error
  }
}

const refuse = (reason: string): never => {
  throw new CustomsError('BAD_USAGE', reason)
}

import { statSync } from 'node:fs'
import { join, parse } from 'node:path'
import type { Log } from '../../audit/log.js'
import type { Configuration, ServerConfiguration } from '../../config/configuration.js'
import { CustomsError } from '../../errors.js'
import type { Setup } from '../server/setup.js'

/** How many relay processes a server has. */
export const workersOf = ({ workers }: ServerConfiguration, configuration: Configuration): number =>
  workers ?? configuration.workers

/**
 * Whether servers are judged by relay processes: those of a file, and a server with several workers.
 * @throws CustomsError BAD_CONFIG where workers cannot have what the configuration says
 */
export const isShared = (
  { configuration, servers }: Setup, isOfFile: boolean, log: Pick<Log, 'warn'>,
): boolean => {
  const { audit: { file }, sessions: { max } } = configuration
  const most = Math.max(...servers.map(({ server }) => workersOf(server, configuration)))
  if (!isOfFile && most === 1) return false
  if (most > max) return refuse(`they divide sessions.max among them, which is ${max}`)
  const isFile = file !== '-' &&
    (file === undefined || file === 'none' || statSync(file, { throwIfNoEntry: false })?.isFile() !== false)
  if (isFile) return true
  if (most > 1) {
    return refuse(`each has an audit log of its own, which ${file === '-' ? 'the standard output' : file} ` +
      'cannot hold apart: name a regular file, or none')
  }
  if (servers.length > 1) {
    log.warn(`audit: ${file} holds the log of one process: this one judges all servers, and none is ` +
      'contained (name a regular file)')
  }
  return false
}

const refuse = (reason: string): never => {
  throw new CustomsError('BAD_CONFIG', `workers: ${reason}`)
}

/** One relay process of a server. */
export interface Part {
  readonly server: string
  /** From 1; who takes the place of another has its number. */
  readonly number: number
  readonly count: number
  /** No other relay process has a log of its own. */
  readonly isOnly: boolean
}

/**
 * What a relay process has of the configuration: nothing that is meant for the front or for other servers; of
 * what the sessions of a server may take up, its part.
 */
export const shareOf = (configuration: Configuration, part: Part): Configuration => {
  const { sessions, audit, tokens } = configuration
  return {
    ...configuration,
    servers: new Map(),
    // How many there are says whose the Authorization header is.
    tokens: tokens.map(() => ''),
    sessions: { ...sessions, max: Math.max(1, Math.floor(sessions.max / part.count)) },
    audit: { ...audit, file: audit.file === 'none' ? 'none' : fileOf(audit.file, part) },
  }
}

/** Each process has a file of its own: `audit.ndjson` as `audit.files.ndjson`, or `audit.files.2.ndjson`. */
export const fileOf = <File extends string | undefined>(
  file: File, { server, number, count, isOnly }: Part,
): File | string =>
  file === undefined || isOnly ? file : named(file, count === 1 ? server : `${server}.${number}`)

/** That of the front: no server's name begins like this. */
export const fileOfFront = (file: string | undefined): string | undefined =>
  (file === undefined || file === 'none' ? file : named(file, '_front'))

const named = (file: string, word: string): string => {
  const { dir, name, ext } = parse(file)
  return join(dir, `${name}.${word}${ext}`)
}

import { statSync } from 'node:fs'
import { join, parse } from 'node:path'
import type { Log } from '#relay/audit/log.js'
import type { Configuration, ServerConfiguration } from '#relay/config/configuration.js'
import { CustomsError } from '#relay/base/errors.js'
import type { Setup } from '../server/setup.js'

/** How many relay processes a server has. */
export const workersOf = ({ workers }: ServerConfiguration, configuration: Configuration): number =>
  workers ?? configuration.workers

/**
 * Whether servers run in relay processes: those of a file do, and a server with several workers.
 * @throws CustomsError BAD_CONFIG where workers cannot have what the configuration says
 */
export const isShared = (
  { configuration, servers }: Setup, isOfFile: boolean, log: Pick<Log, 'warn'>,
): boolean => {
  const { audit: { file }, sessions: { max } } = configuration
  const [refusal] = servers.flatMap(one => one.refusal ?? [])
  const most = Math.max(...servers.map(({ server }) => workersOf(server, configuration)))
  if (!isOfFile && most === 1) return false
  if (most > max) return refuse(`they divide sessions.max among them, which is ${max}`)
  const isFile = file !== '-'
    && (file === undefined || file === 'none' || statSync(file, { throwIfNoEntry: false })?.isFile() !== false)
  if (isFile) return true
  if (most > 1) {
    return refuse(`each has an audit log of its own, which ${file === '-' ? 'the standard output' : file} ` +
      'cannot hold apart: name a regular file, or none')
  }
  if (refusal !== undefined) throw refusal
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
export interface SharePart {
  readonly server: string
  /** From 1; a replacement keeps the number. */
  readonly number: number
  readonly count: number
  /** There is only one relay process, so the log file is not divided. */
  readonly isOnly: boolean
}

/**
 * A relay process's part of the configuration: nothing for the front or other servers, and its share of the
 * sessions.
 */
export const shareOf = (configuration: Configuration, part: SharePart): Configuration => {
  const { sessions, audit, tokens, issuer } = configuration
  return {
    ...configuration,
    servers: new Map(),
    // With tokens, the Authorization header is the front's; by their names clients have logins.
    tokens: tokens.map(({ name }) => ({ token: '', name })),
    issuer: issuer && { ...issuer, introspection: undefined },
    sessions: { ...sessions, max: Math.max(1, Math.floor(sessions.max / part.count)) },
    audit: { ...audit, file: audit.file === 'none' ? 'none' : fileOf(audit.file, part) },
  }
}

/** Each process has its own file: `audit.files.ndjson` or `audit.files.2.ndjson` for `audit.ndjson`. */
export const fileOf = <File extends string | undefined>(
  file: File, { server, number, count, isOnly }: SharePart,
): File | string =>
  file === undefined || isOnly ? file : named(file, count === 1 ? server : `${server}.${number}`)

/** The front's file; no server's name begins with an underscore. */
export const fileOfFront = (file: string | undefined): string | undefined =>
  (file === undefined || file === 'none' ? file : named(file, '_front'))

const named = (file: string, word: string): string => {
  const { dir, name, ext } = parse(file)
  return join(dir, `${name}.${word}${ext}`)
}

import cluster from 'node:cluster'
import { statSync } from 'node:fs'
import { join, parse } from 'node:path'
import type { Configuration } from '../config/configuration.js'
import { CustomsError } from '../errors.js'
import type { Role } from '../workers/calls.js'

/**
 * What workers cannot share is refused before any is started.
 * @throws CustomsError BAD_CONFIG
 */
export const checkShareable = ({ workers, listen, audit: { file }, sessions: { max, maxProcesses } }: Configuration): void => {
  if (process.platform === 'win32') return refuse('Windows has no sockets that are for one user alone, by which workers hand over requests: leave them at 1')
  if (!cluster.isPrimary) return refuse('this process is itself a worker of a cluster, which cannot have any: start it as a process of its own (pm2: exec_mode fork), or leave them at 1')
  if ('socket' in listen) return refuse(`workers share no socket of the file system: listen on HOST:PORT instead of unix:${listen.socket}`)
  if (file === '-') return refuse('each worker has an audit log of its own, which the standard output cannot hold apart: name a file, or none')
  if (file !== undefined && file !== 'none' && statSync(file, { throwIfNoEntry: false })?.isFile() === false) {
    return refuse(`each worker has an audit log of its own, which ${file} cannot hold apart: name a regular file`)
  }
  const least = Math.min(max, maxProcesses)
  if (workers > least) return refuse(`they divide sessions.max and sessions.maxProcesses among them, of which one is ${least}`)
}

const refuse = (reason: string): never => {
  throw new CustomsError('BAD_CONFIG', `workers: ${reason}`)
}

/** What one worker has of it: limits of what all sessions together may take up hold for all workers together, whichever has the sessions. */
export const shareOf = (configuration: Configuration, { number, count, listen }: Role): Configuration => {
  const { limits, sessions, audit } = configuration
  const part = (whole: number) => Math.max(1, Math.floor(whole / count))
  // What one process has room for, such as one message of the greatest length, each worker has.
  const bufferedBytes = Math.min(limits.bufferedBytes, Math.max(part(limits.bufferedBytes), limits.messageBytes))
  return {
    ...configuration,
    listen,
    limits: { ...limits, bufferedBytes },
    sessions: { ...sessions, max: part(sessions.max), maxProcesses: part(sessions.maxProcesses) },
    audit: { ...audit, file: audit.file === undefined || audit.file === 'none' ? audit.file : numbered(audit.file, number) },
  }
}

/** `audit.ndjson` as `audit.2.ndjson`. */
const numbered = (file: string, number: number): string => {
  const { dir, name, ext } = parse(file)
  return join(dir, `${name}.${number}${ext}`)
}

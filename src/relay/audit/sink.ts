import type { Audit, AuditOptions } from './audit.js'
import { join } from 'node:path'
import { CustomsError, messageOf, reasonOf } from '#relay/base/errors.js'
import type { Recorded } from './record.js'
import { Chain, currentTime } from './chain.js'
import { readSigningKey } from './checkpoint.js'
import { LogFile } from './log-file.js'
import { type Opened, openNamed } from './named-file.js'
import { cannotAudit, Nowhere, LogOutput } from './output.js'
import { OwnFile } from './own-file.js'
import { stateFolder, thisMachine } from '#relay/base/platform/machine.js'
import { fileName, settle } from './place.js'
import { noEnds } from './read/ends.js'

/**
 * Opens the log.
 * @throws CustomsError CANNOT_AUDIT, also when another relay writes the file; BAD_CONFIG for a bad key
 */
export const openAudit = async (options: AuditOptions): Promise<Audit> => {
  const { followers = [], keepDays = 0, keepBytes = 0, log } = options
  if (options.file === 'none' && followers.length === 0) {
    return {
      file: undefined, add: () => nothing, prepare: nothing, write: nothing, usage: nothing, close: nothing,
    }
  }
  const key = options.signKey === undefined ? undefined : readSigningKey(options.signKey)
  const opened = await openOutput(options)
  if (opened.output instanceof LogFile && keepDays + keepBytes > 0) {
    const days = keepDays > 0 ? [`${keepDays} days`] : []
    const bytes = keepBytes > 0 ? [`${keepBytes} bytes`] : []
    log?.info?.(
      `audit log ${opened.output.file}: the last ${[...days, ...bytes].join(' or ')} are kept, ` +
      'whichever is less; older files are removed (audit.keepDays, audit.keepBytes)',
    )
  }
  try {
    return new Chain(opened, key, options, toFollowers(options))
  } catch (error) {
    opened.output.close()
    throw error
  }
}

/** Hands each written record to the followers. A follower's error does not concern the log. */
const toFollowers = ({ followers = [], log }: AuditOptions): ((record: Recorded) => void) | undefined => {
  if (followers.length === 0) return undefined
  return ({ text, entry, now }) => {
    for (const follower of followers) {
      try {
        follower.recorded(text.slice(0, -1), entry, now)
      } catch (error) {
        log?.warn(`a record was not handed on: ${messageOf(error)}`)
      }
    }
  }
}

const openOutput = async (
  { file, stream = 2, server, now = currentTime, environment = process.env, ...rotation }: AuditOptions,
): Promise<Opened> => {
  if (file === 'none') return { output: new Nowhere(), ends: noEnds }
  if (file === '-') return { output: new LogOutput(undefined, stream), ends: noEnds }
  const wanted = file ?? join(stateFolder(thisMachine(environment)), `${fileName(server)}.ndjson`)
  try {
    if (file !== undefined) return await openNamed(file, rotation)
    return { output: new OwnFile(settle(wanted), now(), rotation), ends: noEnds }
  } catch (cause) {
    if (cause instanceof CustomsError) throw cause
    throw cannotAudit(
      wanted, `${reasonOf(cause)}; name another file (--audit FILE), or none (--audit none)`, cause,
    )
  }
}

const nothing = (): undefined => undefined

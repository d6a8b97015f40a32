import { CustomsError } from '../errors.js'

/** @param where the log's file; undefined for a standard stream */
export const cannotAudit = (where: string | undefined, reason: string, cause?: unknown): CustomsError =>
  new CustomsError('CANNOT_AUDIT', `the audit log ${where ?? 'on the standard stream'} cannot be written: ${reason}`, { cause })

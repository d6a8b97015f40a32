import { constants } from 'node:os'
import type { Exit } from '../transport.js'

/** What a shell would report: the exit code, or 128 and the signal's number. */
export const exitCodeOf = ({ code, signal }: Exit): number =>
  signal === null ? (code ?? 1) : 128 + constants.signals[signal]

/** How the process ended, in words. */
export const describeExit = ({ code, signal }: Exit): string =>
  signal === null ? `the server exited with code ${code ?? 'unknown'}` : `the server was ended by ${signal}`

/** What becomes of what cannot be written. */
export interface Failures {
  /** Records that are lost, of which the log does not know yet. */
  lost: number
  /**
   * @param records those that are lost and were not counted before
   * @param again those that were, and of which the log was about to say so
   * @throws the failure, unless somebody has chosen to go on
   */
  failed(failure: unknown, records: number, again?: number): void
  /** Something was written. */
  recovered(): void
}

export const strict: Failures = {
  lost: 0,
  failed: failure => {
    throw failure
  },
  recovered: () => undefined,
}

/** An operator's choice (`onFailure: continue`): what cannot be written is said, once each time that it begins, and counted; traffic goes on. */
export const lenient = (warn: (message: string) => void, count: (records: number) => void): Failures => {
  let isFailing = false
  const failures: Failures = {
    lost: 0,
    failed: (failure, records, again = 0) => {
      failures.lost += records + again
      if (records > 0) count(records)
      if (!isFailing) warn(`${failure instanceof Error ? failure.message : String(failure)}; traffic goes on without a record (audit.onFailure: continue)`)
      isFailing = true
    },
    recovered: () => {
      isFailing = false
    },
  }
  return failures
}

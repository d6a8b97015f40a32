/** What becomes of what cannot be written. */
export interface Failures {
  /** @param records those that are lost and were not counted before @throws the failure, unless somebody has chosen to go on */
  failed(failure: unknown, records: number): void
  /** Something was written. */
  recovered(): void
}

export const strict: Failures = {
  failed: failure => {
    throw failure
  },
  recovered: () => undefined,
}

/** An operator's choice (`onFailure: continue`): what cannot be written is said, once each time that it begins, and counted; traffic goes on. */
export const lenient = (warn: (message: string) => void, count: (records: number) => void): Failures => {
  let isFailing = false
  return {
    failed: (failure, records) => {
      if (records > 0) count(records)
      if (!isFailing) warn(`${failure instanceof Error ? failure.message : String(failure)}; traffic goes on without a record (audit.onFailure: continue)`)
      isFailing = true
    },
    recovered: () => {
      isFailing = false
    },
  }
}

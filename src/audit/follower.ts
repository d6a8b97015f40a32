import type { Entry } from '../core/effect.js'

/** Gets each record once the log has it. Nothing waits for it. */
export interface Follower {
  /**
   * @param record as it stands in the log, without its line end
   * @param entry what it is the record of; undefined for what the log says of itself
   */
  recorded(record: string, entry: Entry | undefined, now: Date): void
}

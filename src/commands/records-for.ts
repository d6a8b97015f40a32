import type { Follower } from '../audit/sink.js'
import { remembering, withoutSecrets } from '../audit/secrets.js'
import { recordOfEntry, type LogRecord } from '../report/record.js'

/** So many texts are remembered: they come again with every call, and looking for secrets in them costs more than the rest. */
const most = 1000
/** Characters of a text that are looked at: no page shows more. */
const longest = 1000

/** Tells a page of each entry: no secrets, whatever the log keeps. */
export const recordsFor = (take: (record: LogRecord) => void): Follower => {
  const clean = remembering(withoutSecrets, most)
  return {
    recorded: (_, entry) => {
      if (entry !== undefined) take(recordOfEntry(entry, Date.now(), text => clean(text.slice(0, longest))))
    },
  }
}

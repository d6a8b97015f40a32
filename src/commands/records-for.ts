import { withoutSecrets } from '../audit/secrets.js'
import type { Entry } from '../core/effect.js'
import { recordOfEntry, type LogRecord } from '../report/record.js'

/** So many texts are remembered: they come again with every call, and looking for secrets in them costs more than the rest. */
const most = 1000
/** Characters of a text that are looked at: no page shows more. */
const longest = 1000

/** What a page is told of an entry: no secrets, whatever the log keeps. */
export const recordsFor = (take: (record: LogRecord) => void): ((entry: Entry) => void) => {
  const known = new Map<string, string>()
  const clean = (given: string): string => {
    const text = given.slice(0, longest)
    let cleaned = known.get(text)
    if (cleaned !== undefined) return cleaned
    cleaned = withoutSecrets(text)
    if (known.size >= most) known.clear()
    known.set(text, cleaned)
    return cleaned
  }
  return entry => take(recordOfEntry(entry, Date.now(), clean))
}

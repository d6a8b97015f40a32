import { setTimeout as pause } from 'node:timers/promises'
import { LogFollower } from '#relay/audit/read/follow.js'
import { findLogs, someLogs } from '#relay/audit/read/logs.js'
import { visible } from '#relay/base/errors.js'
import { plainStyle, styleFor } from '#desk/terminal/style.js'
import { filterFor } from '#desk/report/filter.js'
import { merge, type MergedRecord } from '#desk/report/merge.js'
import { recordOfLine } from '#relay/audit/read/record.js'
import { Show } from '#desk/report/show.js'
import { countText } from '#desk/report/units.js'
import { TerminalOutput } from '#desk/terminal/output.js'
import type { ShowFlags } from '#cli/flags/audit.js'

/** Interval between reads of the files, in milliseconds. */
const pollMs = 300

type Shown = Omit<MergedRecord, 'number'> & { readonly number: number | undefined }

/**
 * `audit show [FILE|FOLDER…]`: prints a line for each record, in order of time. With `--follow` it runs until
 * it is stopped or its reader has gone.
 * @throws CustomsError CANNOT_AUDIT when a file cannot be read
 */
export const auditShow = async (
  paths: readonly string[], { wanted, follow, json, long, last }: ShowFlags,
): Promise<number> => {
  const { stdout } = process
  const output = new TerminalOutput(stdout)
  const show = new Show({
    style: json ? plainStyle : styleFor(stdout, process.env), width: stdout.isTTY ? stdout.columns : Infinity,
    long,
  })
  const isWanted = filterFor(wanted)
  const write = (read: Shown): Promise<boolean> | boolean => {
    const text = json ? visible(read.text) : show.text(read)
    return text === undefined || output.line(text)
  }
  let unreadable = 0
  const logs = await (follow ? findLogs : someLogs)(paths)
  const follower = follow ? new LogFollower(paths) : undefined
  const extent = await follower?.skip()

  const kept: MergedRecord[] = []
  for (const read of merge(logs, () => (unreadable += 1), extent)) {
    if (!isWanted(read.record)) continue
    if (last === Infinity) {
      if (!(await write(read))) return 0
    } else {
      kept.push(read)
      if (kept.length >= 2 * last + 100) kept.splice(0, kept.length - last)
    }
  }
  for (const read of last === 0 ? [] : kept.slice(-last)) if (!(await write(read))) return 0
  while (follower !== undefined) {
    for await (const { file, lines } of follower.poll()) {
      for (const bytes of lines) {
        const text = bytes.toString()
        const record = recordOfLine(text)
        if (record === undefined || !isWanted(record)) continue
        if (!(await write({ file, number: undefined, text, record }))) return 0
      }
    }
    if (!(await output.flush())) return 0
    await pause(pollMs)
  }
  await output.flush()
  if (unreadable > 0) {
    process.stderr.write(`${countText(unreadable, 'line')} cannot be read (see mcp-customs audit verify)\n`)
  }
  return 0
}

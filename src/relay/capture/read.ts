import { linesOf as rawLinesOf } from '#relay/audit/read/lines.js'
import { CustomsError, messageOf } from '#relay/base/errors.js'
import { captureFilesOf } from './capture.js'
import { isOpening, parseLine, type Captured, type CaptureLine, type Opening } from './line.js'

export interface CapturedSession {
  readonly opening: Opening
  readonly events: readonly Captured[]
}

/**
 * The lines of captures, in the order of the files. The rotated files of a capture are read before it.
 * @throws CustomsError BAD_USAGE for a file that cannot be read or is no capture
 */
export function* captureLinesOf(files: readonly string[]): Generator<CaptureLine> {
  for (const named of files) {
    let found = 0
    for (const file of siblings(named)) {
      for (const { bytes } of rawLinesOf(file, Infinity, 'BAD_USAGE')) {
        const line = lineIn(file, bytes.toString())
        if (line === undefined) continue
        found++
        yield line
      }
    }
    if (found === 0) {
      const reason = `${named} is no capture (wrap and serve write one with --capture FILE)`
      throw new CustomsError('BAD_USAGE', reason)
    }
  }
}

/**
 * Yields each session when it ends, and after the last line the sessions that have not ended.
 * @param incomplete called for a session of which lines are missing
 */
export function* sessionsIn(
  lines: Iterable<CaptureLine>, incomplete: (session: string) => void = () => undefined,
): Generator<CapturedSession> {
  const open = new Map<string, { readonly opening: Opening; readonly events: Captured[] }>()
  const unknown = new Set<string>()
  for (const line of lines) {
    if (isOpening(line)) {
      open.set(line.session, { opening: line, events: [] })
      continue
    }
    const session = open.get(line.session)
    // A session cannot be replayed without its beginning, or over a gap.
    if (session === undefined || line.number !== session.events.length) {
      open.delete(line.session)
      if (!unknown.has(line.session)) incomplete(line.session)
      unknown.add(line.session)
      continue
    }
    session.events.push(line)
    if (line.event.type !== 'session-ended') continue
    open.delete(line.session)
    yield session
  }
  yield* open.values()
}

const siblings = (file: string): readonly string[] => {
  try {
    return captureFilesOf(file)
  } catch {
    // Reading the file itself reports why.
    return [file]
  }
}

const lineIn = (file: string, text: string): CaptureLine | undefined => {
  try {
    return parseLine(text)
  } catch (error) {
    throw new CustomsError('BAD_USAGE', `${file}: ${messageOf(error)}`, { cause: error })
  }
}

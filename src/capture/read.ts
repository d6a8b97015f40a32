import { linesOf as rawLinesOf } from '../audit/read/lines.js'
import { CustomsError } from '../errors.js'
import { filesOf } from './file.js'
import { isOpening, type Happening, type Line, type Opening } from './line.js'
import { parseLine } from './parse-line.js'

export interface CapturedSession {
  readonly opening: Opening
  readonly happenings: readonly Happening[]
}

/**
 * The lines of captures, in the order of the files; of a file, those before it that rotation has put aside come first.
 * @throws CustomsError BAD_USAGE for a file that cannot be read, or is no capture
 */
export function* linesOf(files: readonly string[]): Generator<Line> {
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
    if (found === 0) throw new CustomsError('BAD_USAGE', `${named} is no capture (wrap and serve write one with --capture FILE)`)
  }
}

/** Sessions, each as it ends; @param incomplete told of those of which a part is not there. */
export function* sessionsIn(lines: Iterable<Line>, incomplete: (session: string) => void = () => undefined): Generator<CapturedSession> {
  const open = new Map<string, { readonly opening: Opening; readonly happenings: Happening[] }>()
  const unknown = new Set<string>()
  for (const line of lines) {
    if (isOpening(line)) {
      open.set(line.session, { opening: line, happenings: [] })
      continue
    }
    const session = open.get(line.session)
    // What happened cannot be replayed from its middle, nor over a gap.
    if (session === undefined || line.number !== session.happenings.length) {
      open.delete(line.session)
      if (!unknown.has(line.session)) incomplete(line.session)
      unknown.add(line.session)
      continue
    }
    session.happenings.push(line)
    if (line.event.type !== 'session-ended') continue
    open.delete(line.session)
    yield session
  }
  yield* open.values()
}

const siblings = (file: string): readonly string[] => {
  try {
    return filesOf(file)
  } catch {
    return [file]
  }
}

const lineIn = (file: string, text: string): Line | undefined => {
  try {
    return parseLine(text)
  } catch (error) {
    throw new CustomsError('BAD_USAGE', `${file}: ${error instanceof Error ? error.message : String(error)}`, { cause: error })
  }
}

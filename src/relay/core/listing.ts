import { difference, type Edit } from '#relay/protocol/edit.js'
import { type JsonObject, member, pointer } from '#relay/protocol/json.js'
import { nextPage } from '#relay/protocol/pages.js'
import type { Path } from '#relay/protocol/scan.js'
import type { Core } from './core.js'
import type { Exchange, List, Subjects } from './vocabulary.js'
import type { Findings } from './findings.js'
import type { Flow } from './flow.js'
import { type Judged, mended } from './mend.js'
import type { Terms } from './terms.js'

/** Asks the rules about a value, and mends it if the policy says so. @returns edits of the frame */
export function* judgeWhole<Asked extends 'onList' | 'onReading'>(
  core: Core, power: Asked, value: JsonObject, at: Path,
  subjectOf: (value: JsonObject) => Flow<Subjects[Asked]>, exchange: Exchange, findings: Findings,
): Flow<readonly Edit[]> {
  const { mends } = core
  const { meter } = findings
  const path = pointer(...at)
  const judge = function* (value: JsonObject): Flow<Judged<Asked>> {
    const subject = yield* subjectOf(value)
    const found = core.findings(meter)
    yield* core.judge(power, subject, found, path, exchange)
    return { value, subject, findings: found }
  }
  const last = yield* mended({ mends, power, path }, yield* judge(value), judge)
  findings.include(last.findings)
  const edits = difference(value, last.value, meter) ?? []
  if (meter.isTurnSpent) yield* core.yieldToLoop(meter, exchange)
  return edits.map(edit => ({ ...edit, path: [...at, ...edit.path] }))
}

/**
 * Asks the rules about a list as a whole.
 * @param cursors by which its pages were asked for
 * @returns the mends as edits of the frame
 */
export const judgeList = (
  core: Core, method: string, { revision }: Terms, cursors: ReadonlySet<string>, result: JsonObject,
  exchange: Exchange, findings: Findings,
): Flow<readonly Edit[]> =>
  judgeWhole(core, 'onList', result, ['result'], function* (result): Flow<List> {
    const { kind } = nextPage(member(result, 'nextCursor'), revision, cursors)
    return { method, result, revision, repeats: kind === 'repeats' }
  }, exchange, findings)

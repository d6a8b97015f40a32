import type { Json } from '../../../protocol/unmetered.js'
import type { Evaluated } from '../evaluated.js'
import type { Run } from '../run.js'
import type { Subschema } from './keyword.js'

/** Whether what may fail without the whole failing holds: a branch of `anyOf`, a `not`. It is not told why not; what it evaluated counts only if it does. */
export const attempt = (branch: Subschema, value: Json, run: Run, seen: Evaluated | undefined): boolean => {
  run.mute()
  const valid = branch.matches(value, run, seen)
  run.unmute()
  return valid
}

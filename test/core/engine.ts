import { createSchemaChecker } from '../../dist/schema/index.js'
import type { Checked, Subject } from '../../dist/core/check.js'

const limits = { schemaBytes: 262144, schemaDepth: 64, subschemas: 5000, validationMs: 5000 }

/** The engine's verdict on what is small; one that others have asked much of would let them have their turn first. */
export const checkAtOnce = (subject: Subject): Checked => {
  const checked = createSchemaChecker(limits).check(subject)
  if (checked instanceof Promise) throw new Error('too large to be judged at once')
  return checked
}

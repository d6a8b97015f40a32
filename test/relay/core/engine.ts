import type { Checked, Subject } from '#relay/core/vocabulary.js'
import { unmetered } from '#relay/protocol/unmetered.js'
import { Budget } from '#relay/schema/budget.js'
import { mainThreadDepth, verdict } from '#relay/schema/evaluate.js'
import { read } from '#relay/schema/read/read.js'

/** The engine's verdict, with neither turns nor threads. */
export const checkAtOnce = (subject: Subject): Checked => {
  const budget = new Budget(10_000_000)
  const reading = read(unmetered(subject.schema), 5000, budget, mainThreadDepth)
  const problems =
    subject.kind === 'schema'
      ? reading.problems
      : verdict(reading, unmetered(subject.value), budget, mainThreadDepth)
  return problems.map(problem => ({ ...problem, path: subject.path + problem.path }))
}

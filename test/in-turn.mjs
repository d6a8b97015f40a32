// Runs the tests of several files in this process, one after the other; what a process of `npm test` consists of (scripts/processes.mjs).
import processOnSpawn from 'process-on-spawn'
import t from 'tap'

// tap has every process of Node's load what measures coverage: where nobody measures, that would be half of a short one's time.
if (process.env.TAP_DISABLE_COVERAGE === '1') processOnSpawn.addListener(child => delete child.env.NODE_OPTIONS)

/** @param files in build/ */
export const inTurn = async files => {
  // No test begins before the last file is loaded: tap ends with the first moment in which there is nothing to do.
  let begin
  t.waitOn(new Promise(resolve => (begin = resolve)))
  for (const file of files) {
    t.comment(file)
    await import(`../build/${file}`)
  }
  begin()
}

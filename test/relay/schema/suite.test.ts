import t from 'tap'
import { absent, asker, drafts, groupsOf, suite } from './ask.js'

/** Tests of the official suite that are judged otherwise, as `file: group: test`. There are none. */
const exceptions: readonly string[] = []

for (const [draft, uri] of drafts) {
  t.test(`the verdict is the official suite's in ${draft}`, { skip: absent(suite) }, async t => {
    const ask = asker()
    const wrong: string[] = []
    let right = 0
    let remote = 0
    for (const { file, description, schema, tests } of groupsOf(draft, uri)) {
      const problems = await ask.schema(schema)
      if (problems.length > 0) {
        // The only schemas that may be refused are those that need a document of the suite's own web server.
        t.match(JSON.stringify(schema), 'http://localhost:1234/', `${file}: ${description}`)
        remote += tests.length
        continue
      }
      for (const test of tests) {
        const found = (await ask.value(schema, test.data)).filter(({ kind }) => kind !== 'format')
        if ((found.length === 0) === test.valid && found.every(({ kind }) => kind === 'mismatch')) right++
        else wrong.push(`${file}: ${description}: ${test.description}`)
      }
    }
    t.comment(`${draft}: ${right} of ${right + wrong.length} right, ${remote} need a remote document`)
    t.strictSame(wrong, exceptions)
    t.ok(right > 500, 'the suite was really run')
    await ask.close()
  })
}

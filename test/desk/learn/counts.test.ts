import t from 'tap'
import { LearntCounts } from '#desk/learn/counts.js'

const says = (text: string) => ({ content: [{ type: 'text', text }] })

t.test('which tools could have a contract, in numbers alone', t => {
  const counts = new LearntCounts()
  counts.declared('declares', true)
  counts.declared('search', false)
  const times = (number: number, tool: string, result: object) => {
    for (let time = 0; time < number; time++) counts.answered(tool, { ...result })
  }
  times(9, 'declares', { ...says('x'), structuredContent: {} })
  times(7, 'search', says('{"a":"secret"}'))
  times(2, 'search', { ...says('secret'), isError: true })
  times(5, 'weather', { ...says('x'), structuredContent: {} })
  times(5, 'mixed', says('{}'))
  times(1, 'mixed', says('none'))
  times(4, 'rare', says('{}'))
  times(3, 'fails', { ...says('x'), isError: true })
  t.strictSame(counts.report(), [
    '"search": 7 results, 2 errors aside: an outputSchema, with structured: from-text',
    '"mixed": 6 results: a resultSchema',
    '"weather": 5 results: an outputSchema, from structuredContent',
    '"rare": 4 results: too few to say',
  ])
  t.notMatch(JSON.stringify([...counts.report()]), 'secret')
  t.end()
})

import t from 'tap'
import { readAs, shape } from '#relay/base/own-json.js'
import { parseData } from '#relay/protocol/unmetered.js'

const { fields, maybe, number, text } = shape
const read = fields({ name: text, until: maybe(number), note: maybe(text) })

t.test('a number that JSON could not write is left out, and the rest of the file is read', t => {
  const written = parseData(JSON.stringify({ name: 'a', until: Infinity }))
  t.strictSame(readAs(read, written), { name: 'a', until: undefined, note: undefined })
  t.equal(readAs(read, { name: 'a', note: null }), undefined, 'another null is of no file of ours')
  t.equal(readAs(read, { name: 'a', until: 'soon' }), undefined)
  t.end()
})

import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { findHidden } from '#relay/protocol/text/hidden.js'
import { isJoinedEmoji, isVariation } from '#relay/protocol/text/in-context.js'

const variations: readonly (readonly [title: string, sequence: string, registered: boolean])[] = [
  ['the first base there is, as an emoji', '#\ufe0f', true],
  ['the same, with a selector for another use', '#\ufe00', false],
  ['a slashed zero', '0\ufe00', true],
  ['a one, which has no slashed form', '1\ufe00', false],
  ['a copyright sign as text', '©\ufe0e', true],
  ['a heart as an emoji', '❤\ufe0f', true],
  ['an emoji that is always one', '😀\ufe0f', false],
  ['the last emoji of the file', '\u{1f6f3}\ufe0e', true],
  ['an intersection with serifs', '∩\ufe00', true],
  ['a quotation mark of two widths', '“\ufe01', true],
  ['a dotted Myanmar letter', 'က\ufe00', true],
  ['a Mongolian letter in its second form', 'ᠠ\u180b', true],
  ['a Mongolian letter in a form it has not', 'ᠢ\u180d', false],
  ['a hieroglyph, turned', '\u{13117}\ufe02', true],
  ['a hieroglyph with every rotation', '\u{13139}\ufe06', true],
  ['a compatibility ideograph', '神\ufe00', true],
  ['the last of them', '\u{2a600}\ufe00', true],
  ['the first ideograph of the database', '\u3402\u{e0100}', true],
  ['its last selector', '\u3402\u{e0104}', true],
  ['one past its last', '\u3402\u{e0105}', false],
  ['an ideograph with one more in a later collection', '中\u{e0103}', true],
  ['one past that', '中\u{e0105}', false],
  ['the ideograph with the most selectors', '邉\u{e011f}', true],
  ['one past the most', '邉\u{e0120}', false],
  ['an ideograph of Extension B', '\u{20089}\u{e0100}', true],
  ['an ideograph that is not in the database', '\u{2ebf0}\u{e0100}', false],
  ['kana', 'あ\u{e0100}', false],
  ['a Latin letter', 'a\u{e0100}', false],
]

const points = (sequence: string): readonly [base: number, selector: number] => {
  const [base = 0, selector = 0] = Array.from(sequence, one => one.codePointAt(0) ?? 0)
  return [base, selector]
}

t.test('a selector is registered for its base or not', t => {
  for (const [title, sequence, registered] of variations) {
    t.equal(isVariation(...points(sequence)), registered, title)
  }
  t.end()
})

const mongolian = [0x180b, 0x180c, 0x180d, 0x180f]
const standardized = Array.from({ length: 16 }, (_, index) => 0xfe00 + index)

t.test('there are as many sequences as in the files: 1,353 and 742 of Unicode, 29,635 of the database', t => {
  let ofUnicode = 0
  let ofDatabase = 0
  for (let base = 0; base < 0x40000; base++) {
    for (const selector of [...mongolian, ...standardized]) if (isVariation(base, selector)) ofUnicode++
    for (let selector = 0xe0100; isVariation(base, selector); selector++) ofDatabase++
  }
  t.equal(ofUnicode, 1353 + 742)
  t.equal(ofDatabase, 29_635)
  t.end()
})

t.test('emoji are joined in the sequences that Unicode recommends', t => {
  for (const fine of [
    '👩\u200d🔬', '👩🏽\u200d🔬', '🏳\ufe0f\u200d🌈', '🏳\u200d🌈', '👨\u200d👩\u200d👧\u200d👦',
    '👩🏻\u200d❤\ufe0f\u200d💋\u200d👩🏿', '🐦\u200d🔥',
  ])
    t.ok(isJoinedEmoji(fine), fine)
  for (const not of ['', '👩', '😀\u200d😀', '👩\u200d👨', '👩\u200d🔬\u200d🔬', '👧\u200d👦']) {
    t.notOk(isJoinedEmoji(not), not)
  }
  t.end()
})

// Unicode's own files lie beside the repository, or in a folder that is named; where they do not, there is
// nothing to compare.
const folder = process.env['UNICODE_FILES']
  ?? fileURLToPath(new URL('../../../../../shared/unicode/', import.meta.url))
const skip = existsSync(folder) ? false : 'the files of Unicode are not here'

const sequencesOf = (name: string): readonly string[] => {
  const file =
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).find(path => basename(path) === name) ?? name
  return readFileSync(join(folder, file), 'utf8').split('\n').flatMap(line => {
    const points = /^([0-9A-F]{4,6}(?: [0-9A-F]{4,6})+) *;/.exec(line)?.[1]?.split(' ')
    return points === undefined ? [] : [String.fromCodePoint(...points.map(point => parseInt(point, 16)))]
  })
}

t.test('the data equals the output of the script', { skip }, t => {
  const made = mkdtempSync(join(tmpdir(), 'unicode-'))
  t.teardown(() => rmSync(made, { recursive: true }))
  execFileSync(process.execPath, ['scripts/unicode.mjs', folder, join(made, 'data.ts')])
  t.equal(
    readFileSync(join(made, 'data.ts'), 'utf8'), readFileSync('src/relay/protocol/text/unicode-data.ts', 'utf8'),
  )
  t.end()
})

t.test('every sequence in the files is text, and one more selector is not', { skip }, t => {
  const registered = [
    'StandardizedVariants.txt', 'emoji-variation-sequences.txt', 'IVD_Sequences.txt',
  ].flatMap(sequencesOf)
  t.ok(registered.length > 41_000)
  t.same(registered.filter(sequence => findHidden(sequence) !== undefined), [])
  t.same(registered.filter(sequence => findHidden(
    `${sequence}\ufe0f`,
  ) === undefined || findHidden(`${sequence}\u{e0100}`) === undefined), [])
  t.end()
})

t.test('every joined emoji in the files is text, with its selectors and without', { skip }, t => {
  const joined = sequencesOf('emoji-zwj-sequences.txt')
  t.ok(joined.length > 1600)
  t.same(joined.filter(
    one => findHidden(one) !== undefined || findHidden(one.replaceAll('\ufe0f', '')) !== undefined,
  ), [])
  t.end()
})

// Makes src/relay/protocol/text/unicode-data.ts from files of the Unicode Consortium: what decides where a character that is not seen
// does its proper work. Run as `node scripts/unicode.mjs FOLDER [FILE]`; somewhere below FOLDER lie, as they were published,
//   StandardizedVariants.txt, extracted/DerivedJoiningType.txt, extracted/DerivedCombiningClass.txt  (Unicode 17.0.0:
//     https://www.unicode.org/Public/17.0.0/ucd/)
//   emoji-variation-sequences.txt (there, in emoji/), emoji-zwj-sequences.txt (https://www.unicode.org/Public/17.0.0/emoji/)
//   IVD_Sequences.txt  (2025-07-14: https://www.unicode.org/ivd/)
// The same files make the same bytes. A newer version of them is a newer version of the data, and nothing else.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const [folder, target = fileURLToPath(new URL('../src/relay/protocol/text/unicode-data.ts', import.meta.url))] = process.argv.slice(2)
if (folder === undefined) throw new Error('usage: node scripts/unicode.mjs FOLDER [FILE]')

const below = readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort()

const read = name => {
  const file = below.find(path => basename(path) === name)
  if (file === undefined) throw new Error(`${name} is not below ${folder}`)
  return readFileSync(join(folder, file), 'utf8')
}

/** The fields of each line, comments aside. */
const rows = text =>
  text.split('\n').map(line => line.replace(/#.*/, '').trim()).filter(line => line !== '')
    .map(line => line.split(';').map(field => field.trim()))

const hex = text => text.split(' ').map(part => parseInt(part, 16))

const version = (text, pattern) => {
  const found = pattern.exec(text)?.[1]
  if (found === undefined) throw new Error(`no version: ${text.slice(0, 40)}`)
  return found
}

const files = {
  standardized: read('StandardizedVariants.txt'),
  joining: read('DerivedJoiningType.txt'),
  combining: read('DerivedCombiningClass.txt'),
  emoji: read('emoji-variation-sequences.txt'),
  joined: read('emoji-zwj-sequences.txt'),
  ideographic: read('IVD_Sequences.txt'),
}

const unicode = ['standardized', 'joining', 'combining'].map(name => version(files[name], /^# \w+-(\d+\.\d+\.\d+)\.txt/))
const emoji = ['emoji', 'joined'].map(name => version(files[name], /^# Version: (\d+\.\d+)/m))
if (new Set(unicode).size > 1 || emoji.some(one => !unicode[0].startsWith(`${one}.`)))
  throw new Error(`files of several versions: ${[...unicode, ...emoji].join(', ')}`)

/** The selectors of each base: a Map of sorted arrays, by code point. */
const selectorsIn = (...texts) => {
  const found = new Map()
  for (const [sequence] of texts.flatMap(rows)) {
    const [base, selector] = hex(sequence)
    if (!found.has(base)) found.set(base, new Set())
    found.get(base).add(selector)
  }
  return new Map([...found].sort(([a], [b]) => a - b).map(([base, set]) => [base, [...set].sort((a, b) => a - b)]))
}

/** As letters: how many code points are skipped since the last one, `` for none, `A` for one. */
const skip = count => (count === 0 ? '' : skip(Math.floor((count - 1) / 26)) + String.fromCharCode(65 + ((count - 1) % 26)))

/** A base after another: what is skipped before it, in capitals, and its value, a digit of base 36. */
const encode = values => {
  let next = 0
  return [...values].map(([codePoint, value]) => {
    if (value > 35) throw new Error(`no digit for ${value}`)
    const token = skip(codePoint - next) + value.toString(36)
    next = codePoint + 1
    return token
  })
}

/** Joined to lines that are easy on a reader of diffs. */
const wrap = tokens => {
  const lines = ['']
  for (const token of tokens) {
    if (lines.at(-1).length + token.length > 120) lines.push('')
    lines[lines.length - 1] += token
  }
  return lines.join('\n')
}

const escape = codePoint => `\\u{${codePoint.toString(16)}}`

const variants = selectorsIn(files.standardized, files.emoji)
const sets = [...new Set([...variants.values()].map(set => set.map(escape).join('')))].sort()
const variantTokens = encode([...variants].map(([base, set]) => [base, sets.indexOf(set.map(escape).join(''))]))

const ideographs = selectorsIn(files.ideographic)
for (const [base, set] of ideographs)
  if (set.some((selector, index) => selector !== 0xe0100 + index)) throw new Error(`a gap in the sequences of ${base.toString(16)}`)
const ideographTokens = encode([...ideographs].map(([base, set]) => [base, set.length]))

// A skin tone and a selector may stand at any of the parts: a sequence is told by what is left without them.
const joined = new Set(rows(files.joined).map(([sequence]) =>
  String.fromCodePoint(...hex(sequence).filter(part => part !== 0x200d && part !== 0xfe0f && !(part >= 0x1f3fb && part <= 0x1f3ff)))))

/** A regular expression's class, without its brackets, of what has one of the values of a property. */
const classOf = (text, ...values) => {
  const points = rows(text).filter(([, value]) => values.includes(value)).flatMap(([range]) => {
    const [first, last = first] = range.split('..').map(end => parseInt(end, 16))
    return Array.from({ length: last - first + 1 }, (_, index) => first + index)
  }).filter(point => point !== 0x200d).sort((a, b) => a - b)
  const ranges = []
  for (const point of points) {
    const range = ranges.at(-1)
    if (range?.[1] === point - 1) range[1] = point
    else ranges.push([point, point])
  }
  return wrap(ranges.map(([first, last]) => escape(first) + (last > first ? `-${escape(last)}` : '')))
    .split('\n').map(line => `  '${line.replaceAll('\\', '\\\\')}'`).join(' +\n')
}

const count = map => [...map.values()].reduce((sum, set) => sum + set.length, 0)

writeFileSync(target, `// Made by scripts/unicode.mjs from the files of Unicode ${unicode[0]} and of the Ideographic Variation Database of
// ${version(files.ideographic, /^# (\d{4}-\d\d-\d\d)/m)}; © Unicode, Inc., https://www.unicode.org/license.txt. Not to be edited.

/**
 * The ${count(variants)} sequences of StandardizedVariants.txt and emoji-variation-sequences.txt: for each base how many code points lie
 * between it and the one before (\`A\` is 1, \`Z\` 26, \`AA\` 27), then which of the \`selectorSets\` it has, in base 36.
 */
export const variants = \`
${wrap(variantTokens)}\`

export const selectorSets = [
${sets.map(set => `  '${set}',`).join('\n')}
]

/**
 * The ${count(ideographs)} sequences of IVD_Sequences.txt, encoded in the same way. A base has the selectors from U+E0100 on, without a
 * gap: the digit says how many.
 */
export const ideographs = \`
${wrap(ideographTokens)}\`

/** The sequences of emoji-zwj-sequences.txt, without their joiners, selectors and skin tones. */
export const joinedEmoji = \`
${wrap([...joined].sort().map(sequence => `${sequence} `)).replaceAll(/ $/gm, '')}\`

/** What joins the letter after it (Joining_Type D, L and C), as a class of a regular expression. */
export const joinsNext =
${classOf(files.joining, 'D', 'L', 'C')}

/** What joins the letter before it (Joining_Type D, R and C). */
export const joinsPrevious =
${classOf(files.joining, 'D', 'R', 'C')}

/** Viramas: the marks of Canonical_Combining_Class 9. */
export const viramas =
${classOf(files.combining, '9')}
`)

import type { Finding, Reading, Rule } from '../core/rule.js'
import type { RuleName } from '../core/rule-name.js'
import { findHidden, nameOf } from '../protocol/hidden-text.js'
import { isArray, isObject, isString, type Json } from '../protocol/json.js'
import { quote } from '../protocol/quote.js'
import { isBase64 } from './base64.js'
import { below, most, nothing } from './finding.js'

export const toolHiddenText: Rule = {
  name: 'tool/hidden-text',
  onTool: ({ definition, path }) => search('tool/hidden-text', definition, path),
}

const hiddenIn = ({ result, plain }: Reading): readonly Finding[] =>
  plain ? nothing : search('content/hidden-text', result, '/result')

export const contentHiddenText: Rule = { name: 'content/hidden-text', onResult: hiddenIn, onReading: hiddenIn }

/** A text of this length may be worth a look whether it is base64, which hides nothing and is told faster. */
const long = 4096

/** Looks at every string below a value, the names of members included. */
const search = (rule: RuleName, root: Json, path: string): readonly Finding[] => {
  const findings: Finding[] = []
  // The way to the value at hand; it becomes a path only where something is found.
  const way: (string | number)[] = []

  const look = (text: string, key?: string) => {
    if (text.length >= long && isBase64(text)) return
    const hidden = findHidden(text)
    if (hidden === undefined) return
    const what = key === undefined ? 'the text' : `the name of the member ${quote(key)}`
    const message = `${what} has a hidden character at position ${hidden.index} (${nameOf(hidden)})`
    findings.push({ rule, path: below(path, ...way), message })
  }

  const walk = (value: Json) => {
    if (findings.length >= most) return
    if (isString(value)) look(value)
    else if (isArray(value)) {
      for (let index = 0; index < value.length; index++) step(index, value[index] ?? null)
    } else if (isObject(value)) {
      for (const key of Object.keys(value)) {
        look(key, key)
        step(key, value[key] ?? null)
      }
    }
  }

  const step = (part: string | number, value: Json) => {
    if (value === null || typeof value === 'number' || typeof value === 'boolean') return
    way.push(part)
    walk(value)
    way.pop()
  }

  walk(root)
  return findings
}

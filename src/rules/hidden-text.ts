import type { Powers, Problem } from '../core/rule.js'
import { findHidden, nameOf } from '../protocol/hidden-text.js'
import { isArray, isObject, isString, type Json } from '../protocol/json.js'
import { quote } from '../protocol/quote.js'
import { isBase64 } from './base64.js'
import { below, most, nothing, readingRule } from './problem.js'

export const toolHiddenText: Powers = {
  onTool: ({ definition, path }) => (definition === undefined ? nothing : search(definition, path)),
}

export const contentHiddenText: Powers = readingRule(({ value, path, plain }) => (plain ? nothing : search(value, path)))

/** A text of this length may be worth a look whether it is base64, which hides nothing and is told faster. */
const long = 4096

/** So many characters that may be hidden are looked at in one message: a book in Persian has fewer joiners. */
const mostSuspects = 400_000

/** Looks at every string below a value, the names of members included. */
const search = (root: Json, path: string): readonly Problem[] => {
  const problems: Problem[] = []
  // The way to the value at hand; it becomes a path only where something is found.
  const way: (string | number)[] = []

  const patience = { left: mostSuspects }

  const look = (text: string, key?: string) => {
    if (text.length >= long && isBase64(text)) return
    const hidden = findHidden(text, patience)
    if (hidden === undefined) return
    const what = key === undefined ? 'the text' : `the name of the member ${quote(key)}`
    const message = `${what} has a hidden character at position ${hidden.index} (${nameOf(hidden)})`
    problems.push({ path: below(path, ...way), message })
  }

  const walk = (value: Json) => {
    if (problems.length >= most) return
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
  return problems
}

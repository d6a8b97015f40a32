import type { Powers, Problem } from '../core/rule.js'
import { findHidden, nameOf } from '../protocol/hidden-text.js'
import { isArray, isObject, isString, type Json } from '../protocol/json.js'
import { each, type Meter } from '../protocol/meter.js'
import { quote } from '../protocol/quote.js'
import { isBase64 } from './base64.js'
import { below, most, nothing, readingRule } from './problem.js'

export const toolHiddenText: Powers = {
  onTool: ({ definition, path }, meter) => (definition === undefined ? nothing : search(definition, path, meter)),
}

export const contentHiddenText: Powers = readingRule(({ value, path, plain }, meter) => (plain ? nothing : search(value, path, meter)))

/** A text of this length may be worth a look whether it is base64, which hides nothing and is told faster. */
const long = 4096

/** So many characters that may be hidden are looked at in one message: a book in Persian has fewer joiners. */
const mostSuspects = 400_000

/** Looks at every string below a value, the names of members included. */
const search = (root: Json, path: string, meter: Meter): readonly Problem[] => {
  const problems: Problem[] = []
  // The way to the value at hand; it becomes a path only where something is found.
  const way: (string | number)[] = []

  const budget = { left: mostSuspects }

  const look = (text: string, part?: string | number) => {
    if (text.length === 0 || problems.length >= most || (text.length >= long && isBase64(text))) return
    meter.payText(text)
    const hidden = findHidden(text, budget)
    if (hidden === undefined) return
    const message = `the text has a hidden character at position ${hidden.index} (${nameOf(hidden)})`
    problems.push({ path: below(path, ...way, ...(part === undefined ? [] : [part])), message })
  }

  const lookAtName = (key: string) => {
    meter.payText(key)
    const hidden = problems.length < most ? findHidden(key, budget) : undefined
    if (hidden === undefined) return
    const message = `the name of the member ${quote(key)} has a hidden character at position ${hidden.index} (${nameOf(hidden)})`
    problems.push({ path: below(path, ...way), message })
  }

  const step = (part: string | number, value: Json | undefined) => {
    if (isString(value)) look(value, part)
    else if (typeof value === 'object' && value !== null) {
      way.push(part)
      walk(value)
      way.pop()
    }
  }

  const walk = (value: Json) => {
    if (isArray(value)) for (const [index, element] of each(value, meter)) step(index, element)
    else if (isObject(value)) {
      for (const [key, member] of each(value, meter)) {
        lookAtName(key)
        step(key, member)
      }
    } else if (isString(value)) look(value)
  }

  walk(root)
  return problems
}

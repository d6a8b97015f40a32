import { CustomsError } from '../errors.js'
import { compare, type Catalogue } from '../lock/compare.js'
import { isArray, isObject, isString, member, type Json, type JsonObject } from '../protocol/json.js'
import { listMethods } from '../protocol/methods.js'
import type { Comparison } from './diff-report.js'
import { problemsOf, type Inspection } from './inspection.js'
import { resultsOf, type Saved } from './saved.js'

/** A saved list, and the file that it is from. */
export interface Named {
  readonly file: string
  readonly saved: Saved
}

const lists = { tools: 'tools/list', prompts: 'prompts/list', resourceTemplates: 'resources/templates/list' } as const

/**
 * Compares what two files tell of, as far as both do: a list that one of them does not have says nothing about the other's.
 * @throws CustomsError BAD_CONFIG for a file whose lists cannot be compared
 */
export const compareSaved = (before: Named, after: Named): Comparison => {
  const both = [before, after]
  const inBoth = (has: (saved: Saved) => boolean) => both.every(({ saved }) => has(saved))
  const inOne = (has: (saved: Saved) => boolean) => both.some(({ saved }) => has(saved)) && !inBoth(has)
  const hasGreeting = ({ hasGreeting }: Saved) => hasGreeting
  const hasList = (method: string) => ({ answers }: Saved) => answers.has(method)
  const catalogueOf = ({ file, saved }: Named): Catalogue => {
    const listed = (key: keyof typeof lists) => (inBoth(hasList(lists[key])) ? elementsOf(saved, lists[key], key, file) : new Map<string, Json>())
    return {
      ...(inBoth(hasGreeting) ? greetingOf(saved) : { identity: {}, instructions: undefined }),
      tools: listed('tools'), prompts: listed('prompts'), resourceTemplates: listed('resourceTemplates'),
    }
  }
  return {
    before: before.file,
    after: after.file,
    changes: compare(catalogueOf(before), catalogueOf(after)),
    incomparable: [
      ...(inOne(hasGreeting) ? ['who the server is'] : []),
      ...Object.values(lists).filter(method => inOne(hasList(method))),
    ],
  }
}

/**
 * What a server was seen to offer. Of two tools of one name the first counts, and what has no name is nothing: a relay passes on neither.
 * @param identity in the operator's words
 * @throws CustomsError CANNOT_REACH when not everything could be listed, or when two readers could read it in two ways
 */
export const catalogueOf = ({ name, lists: seen, connected, findings }: Inspection, identity: JsonObject): Catalogue => {
  const fail = (reason: string): never => {
    throw new CustomsError('CANNOT_REACH', `${name}: ${reason}`)
  }
  for (const { list, message } of problemsOf(seen)) fail(`its ${list} could not be listed in full: ${message}`)
  const ambiguous = findings.find(({ rule }) => rule === 'wire/ambiguous')
  if (ambiguous !== undefined) return fail(`what it lists can be read in two ways: ${ambiguous.path}: ${ambiguous.message}`)
  const listed = (key: keyof typeof lists): ReadonlyMap<string, Json> => {
    const named = new Map<string, Json>()
    for (const { value } of seen[key].items) {
      const its = nameOf(value, lists[key])
      if (its !== undefined && !named.has(its)) named.set(its, value)
    }
    return named
  }
  return { identity, instructions: connected.instructions, tools: listed('tools'), prompts: listed('prompts'), resourceTemplates: listed('resourceTemplates') }
}

const greetingOf = (saved: Saved): Pick<Catalogue, 'identity' | 'instructions'> => {
  const [hello = {}] = [...resultsOf(saved, 'initialize'), ...resultsOf(saved, 'server/discover')]
  const meta = member(hello, '_meta')
  const serverInfo = member(hello, 'serverInfo') ?? (isObject(meta) ? member(meta, 'io.modelcontextprotocol/serverInfo') : undefined)
  const instructions = member(hello, 'instructions')
  return { identity: { serverInfo }, instructions: isString(instructions) ? instructions : undefined }
}

const elementsOf = (saved: Saved, method: string, key: string, file: string): ReadonlyMap<string, Json> => {
  const fail = (reason: string): never => {
    throw new CustomsError('BAD_CONFIG', `${file}: ${reason}`)
  }
  // What two readers could read in two ways cannot be compared.
  const fault = (saved.answers.get(method) ?? []).flatMap(({ faults }) => faults)[0]
  if (fault !== undefined) return fail(`cannot be compared: ${fault.path}: ${fault.message}`)
  const pages = resultsOf(saved, method)
  if (isString(member(pages.at(-1), 'nextCursor'))) return fail(`the answers to ${method} end before the last page`)
  const elements = pages.flatMap(page => {
    const list = member(page, key)
    return isArray(list) ? list : fail(`an answer to ${method} has no list of ${key}`)
  })
  const named = new Map<string, Json>()
  for (const [index, element] of elements.entries()) {
    const name = nameOf(element, method) ?? `(element ${index}, which has no name)`
    named.set(named.has(name) ? `${name} (element ${index}, listed again)` : name, element)
  }
  return named
}

/** By what a client asks for it. */
const nameOf = (element: Json, method: string): string | undefined => {
  const name = isObject(element) ? member(element, listMethods.get(method)?.key === 'resourceTemplates' ? 'uriTemplate' : 'name') : undefined
  return isString(name) ? name : undefined
}

import { CustomsError } from '#relay/base/errors.js'
import { aboutServer } from '#relay/core/accepted.js'
import { compareOffers } from '#relay/lock/compare.js'
import { type Definitions, itemName, offer, type Offer, type OfferPart, single } from '#relay/lock/offer.js'
import { nextPage } from '#relay/protocol/pages.js'
import { firstModern, newestLegacy } from '#relay/protocol/revisions/index.js'
import { isList, isRecord, isString, type Data, field, unmetered } from '#relay/protocol/unmetered.js'
import type { OfferComparison } from './diff.js'
import { type Inspection, inspectionProblems } from './inspection.js'
import { resultsOf, type Saved } from './saved.js'

/** A saved list, and the file that it is from. */
export interface NamedItem {
  readonly file: string
  readonly saved: Saved
}

const lists = {
  tools: 'tools/list', prompts: 'prompts/list', resources: 'resources/list',
  resourceTemplates: 'resources/templates/list',
} as const

const isListPart = (part: OfferPart): part is keyof typeof lists => part in lists

/**
 * Compares two files, as far as both have the list in question.
 * @throws CustomsError BAD_CONFIG for a file whose lists cannot be compared
 */
export const compareSaved = (before: NamedItem, after: NamedItem): OfferComparison => {
  const both = [before, after]
  const inBoth = (has: (saved: Saved) => boolean) => both.every(({ saved }) => has(saved))
  const inOne = (has: (saved: Saved) => boolean) => both.some(({ saved }) => has(saved)) && !inBoth(has)
  const hasGreeting = ({ hasGreeting }: Saved) => hasGreeting
  const hasList = (method: string) => ({ responses }: Saved) => responses.has(method)
  const offerOf = ({ file, saved }: NamedItem): Offer =>
    offer(part => {
      if (!isListPart(part)) return inBoth(hasGreeting) ? greetingOf(saved, part) : new Map()
      return inBoth(hasList(lists[part])) ? elementsOf(saved, lists[part], part, file) : new Map()
    })
  return {
    before: before.file,
    after: after.file,
    changes: compareOffers(offerOf(before), offerOf(after)),
    incomparable: [
      ...(inOne(hasGreeting) ? ['who the server is'] : []),
      ...Object.values(lists).filter(method => inOne(hasList(method))),
    ],
  }
}

/**
 * What a server offers. As in a relay, the first of two tools of one name counts, and a tool without a name
 * is ignored.
 * @throws CustomsError CANNOT_REACH when not everything could be listed, or when two readers could read it in
 * two ways
 */
export const offerOf = ({ name, lists: seen, connected, findings }: Inspection): Offer => {
  const fail = (reason: string): never => {
    throw new CustomsError('CANNOT_REACH', `${name}: ${reason}`)
  }
  for (const { list, message } of inspectionProblems(seen)) {
    fail(`its ${list} could not be listed in full: ${message}`)
  }
  const ambiguous = findings.find(({ rule }) => rule === 'wire/ambiguous')
  if (ambiguous !== undefined) {
    return fail(`what it lists can be read in two ways: ${ambiguous.path}: ${ambiguous.message}`)
  }
  return offer(part => {
    if (part === 'serverInfo') return single(unmetered(aboutServer(connected.serverInfo) ?? null) ?? undefined)
    if (part === 'instructions') return single(connected.instructions)
    const named = new Map<string, Data>()
    for (const { value } of seen[part].items) {
      const its = itemName(value, part)
      if (its !== undefined && !named.has(its)) named.set(its, value)
    }
    return named
  })
}

const revisionOf = (saved: Saved): string => {
  const [hello = {}] = resultsOf(saved, 'initialize')
  const revision = field(hello, 'protocolVersion')
  return isString(revision) ? revision : saved.responses.has('server/discover') ? firstModern : newestLegacy
}

const greetingOf = (saved: Saved, part: 'serverInfo' | 'instructions'): Definitions => {
  const [hello = {}] = [...resultsOf(saved, 'initialize'), ...resultsOf(saved, 'server/discover')]
  const meta = field(hello, '_meta')
  const serverInfo = field(hello, 'serverInfo')
    ?? (isRecord(meta) ? field(meta, 'io.modelcontextprotocol/serverInfo') : undefined)
  const instructions = field(hello, 'instructions')
  return single(part === 'serverInfo' ? serverInfo : isString(instructions) ? instructions : undefined)
}

const elementsOf = (
  saved: Saved, method: string, key: keyof typeof lists, file: string,
): ReadonlyMap<string, Data> => {
  const fail = (reason: string): never => {
    throw new CustomsError('BAD_CONFIG', `${file}: ${reason}`)
  }
  // Ambiguous JSON cannot be compared.
  const fault = (saved.responses.get(method) ?? []).flatMap(({ faults }) => faults)[0]
  if (fault !== undefined) return fail(`cannot be compared: ${fault.path}: ${fault.message}`)
  const pages = resultsOf(saved, method)
  const cursors = pages.map(page => field(page, 'nextCursor'))
  if (nextPage(cursors.pop(), revisionOf(saved), new Set(cursors.filter(isString))).kind === 'page') {
    return fail(`the answers to ${method} end before the last page`)
  }
  const elements = pages.flatMap(page => {
    const list = field(page, key)
    return isList(list) ? list : fail(`an answer to ${method} has no list of ${key}`)
  })
  const named = new Map<string, Data>()
  for (const [index, element] of elements.entries()) {
    const name = itemName(element, key) ?? `(element ${index}, which has no name)`
    named.set(named.has(name) ? `${name} (element ${index}, listed again)` : name, element)
  }
  return named
}

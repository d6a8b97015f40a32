import type { Edit } from '../protocol/edit.js'
import { equal, isArray, isObject, isString, member, pointer, type Json, type JsonObject } from '../protocol/json.js'
import { quote } from '../protocol/quote.js'
import type { Revision } from '../protocol/revision.js'
import type { Catalog, Listing, Page, Tool } from './catalog.js'
import type { Checked, Subject } from './check.js'
import type { Context } from './context.js'
import type { RelayOptions, ToolSetting } from './options.js'
import { actionOf, decide, isStop, type Verdict } from './policy.js'
import type { Finding } from './rule.js'

/** One element of `result.tools`, as it is judged. */
interface Candidate {
  readonly index: number
  readonly path: string
  readonly name: string | undefined
  /** As the server sent it; undefined when it is no object. */
  readonly sent: JsonObject | undefined
  /** With the operator's output schema in place of the server's. */
  readonly definition: JsonObject | undefined
  readonly setting: ToolSetting | undefined
  readonly subjects: readonly Subject[]
}

export interface JudgedPage {
  readonly verdict: Verdict
  readonly findings: readonly Finding[]
  /** What makes of the server's page the client's; none when it may pass as it came. */
  readonly edits: readonly Edit[]
  readonly page: Page
}

/** The tools of a page; undefined when the result is no list of tools. */
export const candidatesOf = (result: JsonObject, options: RelayOptions): readonly Candidate[] | undefined => {
  const tools = member(result, 'tools')
  return isArray(tools) ? tools.map((tool, index) => candidate(tool, index, options)) : undefined
}

const candidate = (sent: Json, index: number, options: RelayOptions): Candidate => {
  const path = pointer('result', 'tools', index)
  if (!isObject(sent)) {
    return { index, path, name: undefined, sent: undefined, definition: undefined, setting: undefined, subjects: [] }
  }
  const name = member(sent, 'name')
  const setting = isString(name) ? options.tools.get(name) : undefined
  const definition =
    setting?.outputSchema === undefined ? sent : { ...sent, outputSchema: setting.outputSchema }
  return {
    index,
    path,
    name: isString(name) ? name : undefined,
    sent,
    definition,
    setting,
    subjects: ['inputSchema', 'outputSchema'].flatMap((key): Subject[] => {
      const schema = member(definition, key)
      return schema === undefined ? [] : [{ kind: 'schema', schema, path: path + pointer(key) }]
    }),
  }
}

type Inquirer = Pick<Context, 'options' | 'ask'>

/**
 * Judges a page of `tools/list`: each tool by itself, so that a bad one never fails the list.
 * @param inspected what the schemas' inspection found, by subject of the candidates in order
 */
export const judgePage = (
  candidates: readonly Candidate[],
  inspected: readonly Checked[],
  where: { readonly listing: Listing; readonly catalog: Catalog; readonly revision: Revision },
  result: JsonObject,
  { options, ask }: Inquirer,
): JudgedPage => {
  const names = new Set(where.listing.names)
  const listed = new Map<string, JsonObject>()
  const accepted = new Map<string, Tool>()
  const edits: Edit[] = []
  const all: Finding[] = []
  let verdict: Verdict = 'pass'
  let inspection = 0

  for (const one of candidates) {
    const schemas = inspected.slice(inspection, (inspection += one.subjects.length)).flat()
    const judged = decide(findingsOf(one, schemas, names, where, { options, ask }), options.policy)
    all.push(...judged.findings)
    if (judged.verdict !== 'pass') verdict = verdict === 'block' ? verdict : judged.verdict
    const stopped = judged.findings.filter(({ rule }) => isStop(actionOf(options.policy, rule)))
    const first = one.name !== undefined && !names.has(one.name)
    if (one.name !== undefined && one.sent !== undefined && first) {
      names.add(one.name)
      listed.set(one.name, one.sent)
    }
    if (stopped.some(removesTool) || one.setting?.denied === true) {
      edits.push({ path: ['result', 'tools', one.index], remove: true })
      continue
    }
    edits.push(...trims(one, stopped))
    if (one.name !== undefined && one.definition !== undefined && first) {
      accepted.set(one.name, toolOf(one.name, one.definition))
    }
  }
  const next = member(result, 'nextCursor')
  const lifetime = member(result, 'ttlMs')
  return {
    verdict,
    findings: all,
    edits,
    page: {
      listed,
      accepted,
      next: isString(next) ? next : undefined,
      lifetime: typeof lifetime === 'number' ? lifetime : 0,
    },
  }
}

// What these two find can be taken from the tool; anything else takes the tool from the list.
const removesTool = ({ rule }: Finding): boolean => rule !== 'tool/annotations' && rule !== 'tool/icon'

const findingsOf = (
  { path, name, sent, setting }: Candidate,
  schemas: Checked,
  names: ReadonlySet<string>,
  { catalog, revision }: { readonly catalog: Catalog; readonly revision: Revision },
  { options, ask }: Inquirer,
): readonly Finding[] => {
  if (sent === undefined) {
    return [{ rule: 'tool/definition', path, message: 'a tool must be an object' }]
  }
  // The rules judge what the server says; an operator's schema stands above them, but for being one at all (`schemas`).
  const judged = setting?.outputSchema === undefined ? sent : without(sent, 'outputSchema')
  const findings = ask('onTool', { definition: judged, path, revision, trusted: options.trusted, schemas }, path)
  if (name === undefined) return findings
  if (names.has(name)) findings.push({ rule: 'tool/duplicate', path, message: `the name ${quote(name)} is listed twice` })
  return [...findings, ...driftOf(name, sent, path, catalog)]
}

const without = (object: JsonObject, key: string): JsonObject =>
  Object.fromEntries(Object.entries(object).filter(([name]) => name !== key))

/** Against what this session listed first: the baseline never moves, so a second poisoned list is found as well. */
const driftOf = (name: string, sent: JsonObject, path: string, catalog: Catalog): readonly Finding[] => {
  const first = catalog.firstListed(name)
  if (first === undefined) {
    return catalog.settled
      ? [{ rule: 'tool/drift', path, message: `the tool ${quote(name)} was not in this session's first list` }]
      : []
  }
  const keys = [...new Set([...Object.keys(first), ...Object.keys(sent)])]
  return keys
    .filter(key => !equal(member(first, key), member(sent, key)))
    .map(key => ({ rule: 'tool/drift', path, message: `${quote(key)} differs from what this session listed first` }))
}

/** What is taken from a tool that stays, and what the operator puts into it. */
const trims = ({ index, sent, setting }: Candidate, stopped: readonly Finding[]): readonly Edit[] => {
  const at = (...path: readonly (string | number)[]) => ['result', 'tools', index, ...path]
  const edits: Edit[] = stopped.flatMap(({ rule, path }): Edit[] => {
    if (rule !== 'tool/icon') return []
    const icon = /\/icons\/(\d+)/.exec(path)?.[1]
    return [{ path: icon === undefined ? at('icons') : at('icons', Number(icon)), remove: true }]
  })
  if (setting?.outputSchema !== undefined) {
    edits.push({ path: at('outputSchema'), replace: JSON.stringify(setting.outputSchema) })
  }
  const untrusted = stopped.some(({ rule }) => rule === 'tool/annotations')
  const theirs = member(sent, 'annotations')
  if (setting?.annotations !== undefined) {
    const kept = !untrusted && isObject(theirs) ? theirs : {}
    edits.push({ path: at('annotations'), replace: JSON.stringify({ ...kept, ...setting.annotations }) })
  } else if (untrusted) {
    edits.push({ path: at('annotations'), remove: true })
  }
  return edits
}

export const toolOf = (name: string, definition: JsonObject): Tool => {
  const input = member(definition, 'inputSchema')
  const output = member(definition, 'outputSchema')
  return {
    name,
    definition,
    // A definition without a usable schema passes only where the operator lets it: then nothing is declared.
    inputSchema: isObject(input) ? input : true,
    outputSchema: isObject(output) || typeof output === 'boolean' ? output : undefined,
  }
}

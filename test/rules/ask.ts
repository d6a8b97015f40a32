import type { Tool } from '../../dist/core/catalog.js'
import type { Answer, Call, Finding, Listed, Reading, Rule, ServerRequest } from '../../dist/core/rule.js'
import type { RuleName } from '../../dist/core/rule-name.js'
import type { Json, JsonObject } from '../../dist/protocol/json.js'
import { partsOf } from '../../dist/protocol/mcp.js'
import { rules } from '../../dist/rules/index.js'

/** A case of a table: what is judged, and the paths of what is found. */
export type Case<Subject> = readonly [title: string, subject: Subject, paths: readonly string[]]

export const ruleNamed = (name: RuleName): Rule => {
  const rule = rules.find(rule => rule.name === name)
  if (rule === undefined) throw new Error(`there is no rule ${name}`)
  return rule
}

export const paths = (findings: readonly Finding[] | undefined): readonly string[] => (findings ?? []).map(({ path }) => path)

export const listed = (definition: JsonObject, more: Partial<Listed> = {}): Listed => ({
  definition, path: '/result/tools/0', revision: '2025-11-25', trusted: false, schemas: [], ...more,
})

export const tool = (more: Partial<Tool> = {}): Tool => ({
  name: 'weather', definition: { name: 'weather', inputSchema: { type: 'object' } }, inputSchema: { type: 'object' },
  outputSchema: undefined, ...more,
})

export const call = (more: Partial<Call> = {}): Call => ({
  name: 'weather', arguments: {}, tool: tool(), denied: false, listed: true, revision: '2025-11-25', checked: [], ...more,
})

export const answer = (result: JsonObject, more: Partial<Answer> = {}): Answer => ({
  ...reading('tools/call', result), name: 'weather', tool: tool(), checked: undefined, ...more,
})

export const reading = (method: string, result: JsonObject, more: Partial<Reading> = {}): Reading => ({
  method, result, parts: partsOf(method, result), revision: '2025-11-25', plain: false, ...more,
})

export const asked = (method: string, params: JsonObject | undefined, clientCapabilities: JsonObject): ServerRequest => ({
  method, params, clientCapabilities, path: '',
})

/** Every finding of every rule. */
export const all = {
  onTool: (subject: Listed) => rules.flatMap(rule => rule.onTool?.(subject) ?? []),
  onCall: (subject: Call) => rules.flatMap(rule => rule.onCall?.(subject) ?? []),
  onResult: (subject: Answer) => rules.flatMap(rule => rule.onResult?.(subject) ?? []),
  onReading: (subject: Reading) => rules.flatMap(rule => rule.onReading?.(subject) ?? []),
  onServerRequest: (subject: ServerRequest) => rules.flatMap(rule => rule.onServerRequest?.(subject) ?? []),
}

export const text = (text: string): Json => ({ type: 'text', text })

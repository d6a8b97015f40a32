import assert from 'node:assert/strict'
import type {
  Arrival, Call, CallResult, CheckedArguments, Finding, List, ListedTool, Mend, Power, Powers, Problem,
  Reading, Rule, ServerRequest, Subjects, Tool,
} from '#relay/core/vocabulary.js'
import { promotionOf } from '#relay/core/tool-results.js'
import { field, type Data, type DataObject } from '#relay/protocol/unmetered.js'
import { textOf } from '#relay/protocol/read-fast.js'
import { Meter } from '#relay/protocol/json.js'
import { parseFrame } from '#relay/protocol/parse.js'
import { Places } from '#relay/protocol/places.js'
import { traitsOf } from '#relay/protocol/revisions/index.js'
import { ruleNamed as find, rules, type RuleName } from '#relay/rules/index.js'

/** A case of a table: what is judged, and the paths of what is found. */
export type Case<Subject> = readonly [title: string, subject: Subject, paths: readonly string[]]

export const ruleNamed = (name: RuleName): Asking => {
  const rule = find(name)
  if (rule === undefined) throw new Error(`there is no rule ${name}`)
  const { onResult, mend } = rule
  const asking =
    onResult === undefined ? rule : { ...rule, onResult: (answer: CallResult) => alike(onResult, answer) }
  return { ...paying(asking), mend: mend && paying(mend) }
}

/** A rule whose powers get a meter of their own. */
type Asking = OneSubject<Omit<Rule, 'mend'>> & { readonly mend: OneSubject<Mend> | undefined }

type OneSubject<Type> = {
  readonly [Key in keyof Type]: Type[Key] extends ((
    subject: infer Subject, meter: Meter,
  ) => infer Found) | undefined ? (subject: Subject) => Found : Type[Key]
}

const paying = <Type extends object>(powers: Type): OneSubject<Type> =>
  Object.fromEntries(Object.entries(powers).map(([key, value]: [string, unknown]) =>
    [key, typeof value === 'function' ? (subject: unknown): unknown => (value as (
      subject: unknown, meter: Meter,
    ) => unknown)(subject, new Meter()) : value])) as OneSubject<Type>

export const paths = (problems: readonly Problem[] | undefined): readonly string[] =>
  (problems ?? []).map(({ path }) => path)

export const listed = (definition: DataObject, more: Partial<ListedTool> = {}): ListedTool => ({
  sent: definition, definition, path: '/result/tools/0', revision: '2025-11-25', trusted: false, schemas: [],
  repeated: false, first: definition,
  settled: false, denied: false, ...more,
})

export const tool = (more: Partial<Tool> = {}): Tool => ({
  name: 'weather', definition: { name: 'weather', inputSchema: { type: 'object' } },
  inputSchemas: [{ type: 'object' }], outputSchemas: [], ...more,
})

export const call = (more: Partial<Call> = {}): Call => ({
  name: 'weather', arguments: {}, tool: tool(), denied: false, listed: true, revision: '2025-11-25',
  mismatch: undefined, rate: undefined, ...more,
})

/** As it comes in a frame. */
export const answer = (result: DataObject, more: Partial<CallResult> = {}): CallResult => {
  const frame = parseFrame(
    Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, result })), { messageBytes: 1 << 24, depth: 128 },
  )
  const value = frame.message.kind === 'result' ? frame.message.result : result
  return {
    ...reading('tools/call', value), name: 'weather', tool: tool(), checked: undefined, contract: undefined, size: undefined,
    structuredText: () => JSON.stringify(result['structuredContent']), repeats: frame.facts?.repeats ?? [],
    promotion: () => promotionOf(result, new Meter()), ...more,
  }
}

export const reading = (method: string, value: Reading['value'], more: Partial<Reading> = {}): Reading => {
  const { path = '/result', revision = '2025-11-25' } = more
  const places = new Places(path, traitsOf(revision).modern, new Meter())
  const { parts, links } =
    (method === 'tools/call' ? places.addResult(value) : places.addPart('result', method, value)).findAll()
  return { method, value, path, parts, links, revision, plain: false, ...more }
}

export const asked = (
  method: string, params: DataObject | undefined, clientCapabilities: DataObject | undefined,
): ServerRequest => ({
  method, params, clientCapabilities, methodPath: '/method', paramsPath: '/params',
})

/** What a rule finds is the same in a result that was judged from its bytes, and in one that was parsed. */
const alike = (find: NonNullable<Powers['onResult']>, answer: CallResult): readonly Problem[] => {
  const found = find(answer, new Meter())
  const text = textOf(field(answer.value, 'structuredContent') ?? null)
  if (text !== undefined) {
    assert.deepEqual(find({
      ...answer, value: { ...answer.value, structuredContent: JSON.parse(text.toString()) as Data },
      repeats: [],
    }, new Meter()), found)
  }
  return found
}

const ask = <Asked extends Power>(power: Asked, subject: Subjects[Asked]): Finding[] =>
  rules.flatMap(({ name }) => {
    const powers: { readonly [Asked in Power]?: (
      (subject: Subjects[Asked]) => readonly Problem[]
    ) | undefined } =
      ruleNamed(name)
    return (powers[power]?.(subject) ?? []).map(problem => ({ rule: name, ...problem }))
  })

/** Every finding of every rule. */
export const all = {
  onFrame: (subject: Arrival) => ask('onFrame', subject),
  onTool: (subject: ListedTool) => ask('onTool', subject),
  onList: (subject: List) => ask('onList', subject),
  onCall: (subject: Call) => ask('onCall', subject),
  onArguments: (subject: CheckedArguments) => ask('onArguments', subject),
  onResult: (subject: CallResult) => ask('onResult', subject),
  onReading: (subject: Reading) => ask('onReading', subject),
  onServerRequest: (subject: ServerRequest) => ask('onServerRequest', subject),
}

export const text = (text: string): Data => ({ type: 'text', text })

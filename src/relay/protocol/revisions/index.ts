import { isObject, member, type Json, type JsonObject } from '../json.js'
import { revision20241105 as r20241105 } from './2024-11-05.js'
import { revision20250326 as r20250326 } from './2025-03-26.js'
import { revision20250618 as r20250618 } from './2025-06-18.js'
import { revision20251125 as r20251125 } from './2025-11-25.js'
import { revision20260728 as r20260728 } from './2026-07-28.js'
import type { Definition, Method, Place, Traits } from './definition.js'
import { anything, blockOf, integer, namesOf, oneOf, shapeOf, text, type Shape } from './shape.js'

/** What differs between revisions, as the rules need it. */
interface RevisionTraits extends Pick<Traits, 'modern' | 'batches'> {
  readonly contentTypes: ReadonlySet<string>
  readonly samplingTypes: ReadonlySet<string>
  readonly hasOutputSchemas: boolean
  /** CallToolResult. */
  readonly result: Shape
  /** Tool. A missing `inputSchema.type` is judged by tool/input-type. */
  readonly tool: Shape
}

const compile = (definition: Definition) => {
  const { modern, batches, toolResult, tool, result, block, blocks, sampled } = definition.traits
  const content = [blockOf(block, blocks)] as const
  const usual = shapeOf({ content, ...result })
  const old = shapeOf({ toolResult: anything, 'content?': content, ...result })
  const isOld = (value: Json) => toolResult && isObject(value) && member(value, 'toolResult') !== undefined
  const traits: RevisionTraits = {
    modern, batches,
    contentTypes: new Set(Object.keys(blocks)),
    samplingTypes: new Set(Object.keys(sampled)),
    hasOutputSchemas: namesOf(tool).includes('outputSchema'),
    tool: shapeOf(tool),
    result: (value, meter) => (isOld(value) ? old : usual)(value, meter),
  }
  return { definition, traits }
}

/** The known revisions of MCP, oldest first. For a new one see CONTRIBUTING.md. */
const table = {
  '2024-11-05': compile(r20241105),
  '2025-03-26': compile(r20250326),
  '2025-06-18': compile(r20250618),
  '2025-11-25': compile(r20251125),
  '2026-07-28': compile(r20260728),
}

export type Revision = keyof typeof table

export const isRevision = (name: string): name is Revision => Object.hasOwn(table, name)

export const revisions: readonly Revision[] = Object.keys(table).filter(isRevision)

export const traitsOf = (revision: Revision): RevisionTraits => table[revision].traits

export const modernRevisions = revisions.filter(revision => traitsOf(revision).modern)

/** The oldest revision without a handshake, and the newest with one. */
export const firstModern = modernRevisions[0] ?? '2026-07-28'
export const newestLegacy = revisions.findLast(revision => !traitsOf(revision).modern) ?? '2025-11-25'

/** The revision to judge by: for an unknown one the newest that is not later (dates sort as text). */
export const nearest = (name: string): Revision =>
  isRevision(name) ? name : (revisions.findLast(revision => revision <= name) ?? '2024-11-05')

const definitions = Object.values(table).map(({ definition }) => definition)

const methods = new Map<string, Method>()
for (const [name, method] of definitions.flatMap(one => Object.entries(one.methods ?? {}))) {
  const { inParams = [], inResult = [], ...before } = methods.get(name) ?? {}
  methods.set(name, {
    ...before, ...method,
    inParams: [...inParams, ...(method.inParams ?? [])], inResult: [...inResult, ...(method.inResult ?? [])],
  })
}

export const methodOf = (name: string): Method | undefined => methods.get(name)

export const inEveryResult: readonly Place[] = definitions.flatMap(one => one.inEveryResult ?? [])
export const inEveryError: readonly Place[] = definitions.flatMap(one => one.inEveryError ?? [])

/** Names of members that the protocol gives a meaning in params, results, tools and blocks of content. */
const keysOf = (of: (one: Definition) => readonly string[]): readonly string[] =>
  [...new Set(['_meta', ...definitions.flatMap(of)])]

export const paramKeys = keysOf(({ paramKeys }) => paramKeys?.split(' ') ?? [])
export const resultKeys = keysOf(({ resultKeys }) => resultKeys?.split(' ') ?? [])
export const toolKeys = keysOf(({ traits }) => namesOf(traits.tool))
export const blockKeys = keysOf(({ traits: { block, blocks, sampled } }) =>
  ['type', ...[block, ...Object.values(blocks)].flatMap(namesOf), ...Object.values(sampled).flat()])

const finals = [...new Set([...methods.values()].flatMap(({ final = [] }) => final))]

/** True of a result with a member of some final result: a client may read it as final, whatever its type. */
export const hasFinalMember = (result: JsonObject): boolean =>
  finals.some(name => Object.hasOwn(result, name))

/** The methods that list something, with the member that holds the list. */
export const listMethods: ReadonlyMap<string, NonNullable<Method['list']>> = new Map(
  [...methods].flatMap(([name, { list }]) => (list === undefined ? [] : [[name, list]])),
)

const listShapes: ReadonlyMap<string, Shape> = new Map([...listMethods].map(([method, { key, needs }]) => {
  const element = needs.length === 0 ? anything : Object.fromEntries(needs.map(name => [name, text]))
  const page = { 'nextCursor?': text, 'ttlMs?': integer, 'cacheScope?': oneOf('public', 'private') }
  return [method, shapeOf({ [key]: [element], ...page })]
}))

/** The shape of a list's result; undefined for another method. The tools in it are judged one by one. */
export const listShape = (method: string): Shape | undefined => listShapes.get(method)

/** Keys of `_meta` that the protocol gives a meaning begin so (2026-07-28, `_meta`). */
export const metaPrefix = 'io.modelcontextprotocol/'

/** A member of `_meta`, in a request's params or in a result, by its name in the protocol's namespace. */
export const inMeta = (holder: JsonObject | undefined, key: string): Json | undefined => {
  const meta = member(holder, '_meta')
  return isObject(meta) ? member(meta, metaPrefix + key) : undefined
}

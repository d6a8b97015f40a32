import type { SchemaProblem } from '#relay/core/vocabulary.js'
import { isList, isRecord, isString, type Data, type DataObject } from '#relay/protocol/unmetered.js'
import { dialectOf, type Dialect } from '#relay/protocol/json-schema.js'
import { clip } from '#relay/protocol/quote.js'
import { Budget } from '../budget.js'
import { nearestNode, type SchemaNode, type SchemaResource } from '../schema-node.js'
import { mismatchesOf, type SchemaReading } from '../evaluate.js'
import type { Mismatch } from '../run.js'
import { keywordsOf, refersAlone } from '../keywords/index.js'
import documents from './metaschemas.json' with { type: 'json' }
import { Reader, TooManySubschemas } from './reader.js'

/** The id without the empty fragment of older dialects. */
const idOf = (document: DataObject): string =>
  [document['$id'], document['id']].find(isString)?.replace(/#$/, '') ?? ''

/**
 * The official meta-schemas and their vocabularies by id, from
 * https://github.com/json-schema-org/json-schema-spec (three-clause BSD licence).
 */
const metaschemas: ReadonlyMap<string, DataObject> = new Map(documents.map(one => [idOf(one), one]))

/** Those that were read, each at its first use. */
const resources = new Map<string, SchemaResource>()

/** The official meta-schema with this URI (without fragment, http or https); undefined for any other. */
const officialResource = (uri: string): SchemaResource | undefined => {
  const canonical = uri.replace(/^https?:/, /\/draft-0\d\//.test(uri) ? 'http:' : 'https:')
  const document = metaschemas.get(canonical)
  const known = resources.get(canonical)
  if (document === undefined || known !== undefined) return known
  const reader = new Reader(Infinity, new Budget(2 ** 30), officialResource)
  const root = reader.open(document, canonical)
  if (root === undefined) return undefined
  // Before its references are resolved, because they are circular.
  resources.set(canonical, root.resource)
  reader.resolveReferences()
  return root.resource
}

/** The meta-schema of a dialect. */
const metaschemaOf = (dialect: Dialect): SchemaResource => {
  const uri = [...metaschemas.keys()].find(id => dialectOf(id) === dialect)
  const resource = uri === undefined ? undefined : officialResource(uri)
  if (resource === undefined) throw new Error(`the meta-schema of ${dialect} is missing`)
  return resource
}

export const unusable = (
  problems: readonly SchemaProblem[],
): SchemaReading => ({ schema: undefined, problems })

/**
 * Reads a schema within the limits of bytes and depth: its dialect, ids, anchors and references. Validates it
 * by the meta-schema of its dialect.
 * @param subschemas the most subschemas that it may have
 * @param depth as for an evaluation
 * @throws Exhausted; RangeError when the native stack does not suffice
 */
export const read = (json: Data, subschemas: number, budget: Budget, depth: number): SchemaReading => {
  const reader = new Reader(subschemas, budget, officialResource)
  try {
    const root = reader.open(json)
    reader.resolveReferences()
    for (const region of reader.regions) validateRegion(region, reader, depth)
    const cycle = root && findCycle(root, budget)
    if (cycle !== undefined) reader.report('schema', cycle, [], 'refers to itself without end ($ref)')
    if (root === undefined || reader.problems.length > 0) return unusable(reader.problems)
    const formats = !reader.formats ? 'none' : reader.nonMonotonic ? 'entangled' : 'alone'
    return { schema: { root, formats }, problems: [] }
  } catch (error) {
    if (!(error instanceof TooManySubschemas)) throw error
    return unusable([{ kind: 'cost', path: '', message: 'has too many subschemas' }])
  }
}

/** Validates the parts of a region that are of its dialect. */
const validateRegion = (region: SchemaNode, reader: Reader, depth: number): void => {
  const { regions, budget } = reader
  const { dialect } = region.resource
  budget.spend(5 * regions.length)
  const others = new Set(regions.filter(one => one.resource.dialect !== dialect).map(one => one.schema))
  const value = others.size === 0 ? region.schema : without(region.schema, others, budget)
  for (const mismatch of mismatchesOf(metaschemaOf(dialect).root, value, budget, depth)) {
    reader.report('schema', region, mismatch.path, inWords(mismatch, region, budget))
  }
}

/** A copy with an empty schema in place of each of `schemas`. */
const without = (json: Data, schemas: ReadonlySet<Data>, budget: Budget): Data => {
  budget.spend(10)
  if (isList(json)) return json.map(item => without(item, schemas, budget))
  if (!isRecord(json)) return json
  if (schemas.has(json)) return {}
  const keys = Object.keys(json)
  budget.spend(20 * keys.length)
  return Object.fromEntries(keys.map(key => [key, without(json[key] ?? null, schemas, budget)]))
}

/** The message about a wrong keyword: it names this keyword, not the meta-schema's keyword that failed. */
const inWords = ({ path, message }: Mismatch, region: SchemaNode, budget: Budget): string => {
  const { node, steps: [name] } = nearestNode(region, path, budget)
  if (name === undefined) return message
  const keyword = keywordsOf(node.resource.dialect).get(String(name))
  return `${keyword?.expected ?? message.replace(/ \([$\w]+\)$/, '')} (${clip(String(name))})`
}

/** The schemas that a schema applies to the same value, and to what is below; dynamic targets are unknown. */
const appliedBy = (
  node: SchemaNode,
): { readonly here: readonly SchemaNode[]; readonly below: readonly SchemaNode[] } => {
  const here = [...node.targets.values()].map(target => target.node)
  const below: SchemaNode[] = []
  if (refersAlone(node)) return { here, below }
  const keywords = keywordsOf(node.resource.dialect)
  const has = (keyword: string) => typeof node.schema === 'object' && Object.hasOwn(node.schema, keyword)
  for (const child of node.children) {
    const keyword = keywords.get(String(child.steps[0]))
    if (keyword?.applies === 'here' && (keyword.needs === undefined || has(keyword.needs))) here.push(child)
    else if (keyword?.applies === 'below') below.push(child)
  }
  return { here, below }
}

/** Finds a schema that applies itself to the same value again: its evaluation would never end. */
const findCycle = (root: SchemaNode, budget: Budget): SchemaNode | undefined => {
  const done = new Set<SchemaNode>()
  const open = new Set<SchemaNode>()
  const starts = [root]
  for (const start of starts) {
    // An explicit stack, because a chain of references may have thousands of schemas.
    const stack: { node: SchemaNode; rest: SchemaNode[] }[] = []
    const enter = (node: SchemaNode) => {
      const { here, below } = appliedBy(node)
      budget.spend(30 + 10 * (here.length + below.length))
      starts.push(...below)
      open.add(node)
      stack.push({ node, rest: [...here] })
    }
    if (!done.has(start)) enter(start)
    for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
      const next = top.rest.pop()
      if (next === undefined) {
        open.delete(top.node)
        done.add(top.node)
        stack.pop()
      } else if (open.has(next)) return next
      else if (!done.has(next)) enter(next)
    }
  }
  return undefined
}

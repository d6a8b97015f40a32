import {
  each, equal, isArray, isObject, isString, mapped, member, omit, withMembers, type Json, type JsonObject,
  type Meter,
} from '../protocol/json.js'
import { listShape, traitsOf } from '../protocol/revisions/index.js'
import { quote } from '../protocol/quote.js'
import type { SchemaProblem } from '../core/check.js'
import type { List, Mend, Powers, Problem } from '../core/rule.js'
import { withoutNulls } from './nulls.js'
import { below, maxProblems, nothing, ofKind, ofMisfits, one } from './problem.js'
import { upgrade } from '../mend/upgrade.js'
import { defaultDialect, dialectOf } from '../protocol/json-schema.js'
import { paramHeaders } from '../protocol/headers.js'

export const definition: Powers = {
  onTool: ({ definition, path, revision }, meter) =>
    definition === undefined ? one(path, 'a tool must be an object') : ofMisfits(traitsOf(revision).tool(definition, meter), path),
  onList: ({ method, result }) =>
    method === 'tools/list' && !isArray(member(result, 'tools')) ? one('/result/tools', 'the result has no list of tools') : nothing,
}

/** What strict clients refuse the whole list for, and what can be mended without changing what is meant. */
export const inputType: Powers = {
  onTool({ definition, path, revision }, meter) {
    const schema = member(definition, 'inputSchema')
    const isTyped = !isObject(schema) || member(schema, 'type') === 'object'
    const missing = isTyped ? nothing : one(`${path}/inputSchema`, 'must have "type": "object"')
    if (traitsOf(revision).modern) return missing
    const booleans = ['inputSchema', 'outputSchema'].flatMap(key => booleansIn(member(definition, key), `${path}/${key}/properties`, meter))
    return booleans.length === 0 ? missing : [...missing, ...booleans]
  },
}

export const typed: Mend = {
  onTool({ definition = {}, revision }, meter) {
    const input = member(definition, 'inputSchema')
    if (!isObject(input) || (member(input, 'type') ?? 'object') !== 'object') return undefined
    const made = withMembers(definition, { inputSchema: withMembers(input, { type: 'object' }, meter) }, meter)
    if (traitsOf(revision).modern) return made
    const schemas = ['inputSchema', 'outputSchema'].flatMap(key => {
      const schema = withoutBooleans(member(made, key), meter)
      return schema === undefined ? [] : [[key, schema] as const]
    })
    return withMembers(made, Object.fromEntries(schemas), meter)
  },
}

const withoutBooleans = (schema: Json | undefined, meter: Meter): Json | undefined => {
  const properties = isObject(schema) ? member(schema, 'properties') : undefined
  if (!isObject(schema) || !isObject(properties)) return schema
  const spelt = mapped(properties, meter, value => (value === true ? {} : value === false ? { not: {} } : value))
  return withMembers(schema, { properties: spelt }, meter)
}

const booleansIn = (schema: Json | undefined, path: string, meter: Meter): readonly Problem[] => {
  const properties = isObject(schema) ? member(schema, 'properties') : undefined
  if (!isObject(properties)) return nothing
  return [...each(properties, meter)]
    .filter(([, value]) => typeof value === 'boolean')
    .slice(0, maxProblems)
    .map(([key]) => ({ path: below(path, key), message: 'must be an object, not true or false' }))
}

export const list: Powers = {
  onList(list, meter) {
    const misfits = listShape(list.method)?.(list.result, meter) ?? []
    // A result without a list of tools is tool/definition.
    const own = ofMisfits(misfits.filter(({ path }) => path.length > 1 || path[0] !== 'tools'), '/result')
    const nulls = atNulls(nullsOf(list, meter).nulls, '/result')
    return nulls.length === 0 ? own : [...own, ...nulls.filter(({ path }) => own.every(other => other.path !== path))]
  },
  onTool: ({ definition, path }, meter) => (definition === undefined ? nothing : atNulls(withoutNulls(definition, meter).nulls, path)),
}

export const listed: Mend = {
  onList: (list, meter) => nullsOf(list, meter).left,
  onTool: ({ definition }, meter) => definition && withoutNulls(definition, meter).left,
  otherwise: 'log',
  heals: ['tool/definition', 'tool/schema'],
}

/** Tools are judged one by one. */
const nullsOf = ({ method, result }: List, meter: Meter) =>
  listShape(method) === undefined ? { nulls: [], left: result } : withoutNulls(result, meter, method === 'tools/list' ? 1 : Infinity)

const atNulls = (nulls: readonly (readonly (string | number)[])[], path: string): readonly Problem[] =>
  nulls.map(way => ({ path: below(path, ...way), message: 'must not be null' }))

export const name: Powers = {
  onTool({ definition, path }) {
    const name = member(definition, 'name')
    if (!isString(name) || /^[A-Za-z0-9_.-]{1,128}$/.test(name)) return nothing
    return one(`${path}/name`, 'must be 1 to 128 letters, digits, underscores, hyphens and dots (ASCII)')
  },
}

export const duplicate: Powers = {
  onTool({ definition, path, repeated }) {
    const name = member(definition, 'name')
    return repeated && isString(name) ? one(path, `the name ${quote(name)} is listed twice`) : nothing
  },
}

/** Against what the operator has accepted. */
const ofLock: Powers = {
  onDrift: ({ kind, drift: { classes, isMinor }, path }) => [
    { path, isMinor, message: `the ${kind} is not what was accepted (${classes}): look at it with "mcp-customs lock --check", accept it with "mcp-customs lock"` },
  ],
}

/** Against what this session listed first: the baseline never moves, so a second poisoned list is found as well. */
export const drift: Powers = {
  ...ofLock,
  onTool({ sent, path, first, settled }, meter) {
    const name = member(sent, 'name')
    if (sent === undefined || sent === first || !isString(name)) return nothing
    if (first === undefined) return settled ? one(path, `the tool ${quote(name)} was not in this session's first list`) : nothing
    const keys = new Set([...each(first, meter), ...each(sent, meter)].map(([key]) => key))
    return [...keys]
      .filter(key => !equal(member(first, key), member(sent, key)))
      .slice(0, maxProblems)
      .map(key => ({ path, message: `${quote(key)} differs from what this session listed first` }))
  },
}

/** What the inspection of a schema found; of the kinds that only values have, none is expected, and none passes. */
const ofInspection = (isIts: (kind: SchemaProblem['kind']) => boolean): Powers => ({ onTool: ({ schemas }) => ofKind(schemas, isIts) })

export const schema = ofInspection(kind => kind !== 'external-ref' && kind !== 'cost')
export const externalRef = ofInspection(kind => kind === 'external-ref')
export const cost: Powers = {
  ...ofInspection(kind => kind === 'cost'),
  onOverLimit: ({ count, reason }) => one('/result/tools', `${reason}: ${count === 1 ? 'one is' : `${count} are`} not kept`),
}

/** A title claims nothing of what the tool does. */
export const isAnnotated = (tool: JsonObject | undefined, meter: Meter): boolean => {
  const annotations = member(tool, 'annotations')
  return isObject(annotations) ? [...each(annotations, meter)].some(([key]) => key !== 'title') : annotations !== undefined
}

export const untrusted: Powers = {
  onTool: ({ definition, path, trusted }, meter) =>
    trusted || !isAnnotated(definition, meter) ? nothing : one(`${path}/annotations`, 'come from a server that the operator does not trust'),
}

export const withoutClaims: Mend = {
  isBlock: true,
  onTool({ definition = {} }, meter) {
    const annotations = member(definition, 'annotations')
    const title = isObject(annotations) ? member(annotations, 'title') : undefined
    return title === undefined ? omit(definition, 'annotations') : withMembers(definition, { annotations: { title } }, meter)
  },
}

/**
 * Only what cannot both be true. The specification calls `idempotentHint` and `destructiveHint` meaningless for a tool
 * that is read-only, and many servers write them out with their defaults: that alone contradicts nothing.
 */
export const contradiction: Powers = {
  onTool({ definition, path }) {
    const annotations = member(definition, 'annotations')
    if (!isObject(annotations)) return nothing
    const says = (hint: string) => member(annotations, hint) === true
    return says('readOnlyHint') && says('destructiveHint')
      ? one(`${path}/annotations`, 'a tool cannot be read-only and destructive')
      : nothing
  },
}

const keys = ['inputSchema', 'outputSchema'] as const

/** What the schema of a tool says it is written in; undefined of 2020-12, and of one that leaves it to the default, which is that. */
const otherDialect = (tool: JsonObject | undefined, key: string): string | undefined => {
  const schema = member(tool, key)
  const named = isObject(schema) ? member(schema, '$schema') : undefined
  return isString(named) && dialectOf(named) !== defaultDialect ? named : undefined
}

export const dialect: Powers = {
  onTool: ({ definition, path }) =>
    keys.flatMap(key => {
      const named = otherDialect(definition, key)
      return named === undefined ? [] : [{ path: `${path}/${key}/$schema`, message: `names the dialect ${quote(named)}, where many clients know 2020-12 alone` }]
    }),
}

/** What cannot be said in 2020-12 is kept from the client: it goes on being what arguments and results are checked by. */
export const upgraded: Mend = {
  onTool({ definition = {} }, meter) {
    let made = definition
    for (const key of keys) {
      const schema = member(definition, key)
      const named = otherDialect(definition, key)
      if (named === undefined || !isObject(schema)) continue
      // Of what it means nothing is known.
      if (dialectOf(named) === undefined) return undefined
      const said = upgrade(schema, meter)
      if (said !== undefined) made = withMembers(made, { [key]: said }, meter)
      else made = key === 'outputSchema' ? omit(made, key) : withMembers(made, { [key]: { type: 'object' } }, meter)
    }
    return made
  },
}

/** Legacy revisions know nothing of `x-mcp-header`: to them it is one more keyword that nobody reads. */
export const header: Powers = {
  onTool({ definition, path, revision }, meter) {
    if (!traitsOf(revision).modern) return nothing
    return paramHeaders(member(definition, 'inputSchema'), meter).problems.map(problem => ({
      path: `${path}/inputSchema${problem.path}`,
      message: problem.message,
    }))
  },
}

import {
  each, equal, isArray, isObject, isString, mapped, member, omit, withMembers, type Json, type JsonObject,
  type Meter,
} from '#relay/protocol/json.js'
import { listShape, traitsOf } from '#relay/protocol/revisions/index.js'
import { quote } from '#relay/protocol/quote.js'
import { changedTexts } from '#relay/core/changed-texts.js'
import type { List, Mend, Powers, Problem, SchemaProblem } from '#relay/core/vocabulary.js'
import { withoutBroken } from './broken.js'
import { tidied } from './nulls.js'
import { pathBelow, maxProblems, nothing, ofKind, ofMisfits, one } from './problem.js'
import { upgrade } from '#relay/protocol/upgrade.js'
import { defaultDialect, dialectOf } from '#relay/protocol/json-schema.js'
import { paramHeaders } from '#relay/protocol/headers.js'

const keys = ['inputSchema', 'outputSchema'] as const

export const definitionRules: Powers = {
  onTool: ({ definition, path, revision }, meter) =>
    definition === undefined
      ? one(path, 'a tool must be an object')
      : ofMisfits(traitsOf(revision).tool(definition, meter), path),
  onList: ({ method, result }) =>
    method === 'tools/list' && !isArray(member(result, 'tools'))
      ? one('/result/tools', 'the result has no list of tools')
      : nothing,
}

/** PHP writes `[]` for an empty object. */
export const withObjects: Mend = {
  onTool: ({ definition }, meter) => definition && tidied(definition, meter, { arrays: true }).cleared,
  heals: ['tool/schema'],
}

/** Strict clients refuse the whole list for it, and it can be mended without changing the meaning. */
export const inputType: Powers = {
  onTool({ definition, path, revision }, meter) {
    const schema = member(definition, 'inputSchema')
    const isTyped = !isObject(schema) || member(schema, 'type') === 'object'
    const missing = isTyped ? nothing : one(`${path}/inputSchema`, 'must have "type": "object"')
    if (traitsOf(revision).modern) return missing
    const booleans =
      keys.flatMap(key => booleansIn(member(definition, key), `${path}/${key}/properties`, meter))
    return booleans.length === 0 ? missing : [...missing, ...booleans]
  },
}

export const typed: Mend = {
  onTool({ definition = {}, revision }, meter) {
    const input = member(definition, 'inputSchema')
    if (!isObject(input) || (member(input, 'type') ?? 'object') !== 'object') return undefined
    const typedInput = withMembers(input, { type: 'object' }, meter)
    const made = withMembers(definition, { inputSchema: typedInput }, meter)
    if (traitsOf(revision).modern) return made
    const schemas = keys.flatMap(key => {
      const schema = withoutBooleans(member(made, key), meter)
      return schema === undefined ? [] : [[key, schema] as const]
    })
    return withMembers(made, Object.fromEntries(schemas), meter)
  },
}

const withoutBooleans = (schema: Json | undefined, meter: Meter): Json | undefined => {
  const properties = isObject(schema) ? member(schema, 'properties') : undefined
  if (!isObject(schema) || !isObject(properties)) return schema
  const spelt =
    mapped(properties, meter, value => (value === true ? {} : value === false ? { not: {} } : value))
  return withMembers(schema, { properties: spelt }, meter)
}

const booleansIn = (schema: Json | undefined, path: string, meter: Meter): readonly Problem[] => {
  const properties = isObject(schema) ? member(schema, 'properties') : undefined
  if (!isObject(properties)) return nothing
  return [...each(properties, meter)]
    .filter(([, value]) => typeof value === 'boolean')
    .slice(0, maxProblems)
    .map(([key]) => ({ path: pathBelow(path, key), message: 'must be an object, not true or false' }))
}

export const list: Powers = {
  onList(list, meter) {
    const misfits = listShape(list.method)?.(list.result, meter) ?? []
    // A missing list of tools is judged by tool/definition.
    const own = [
      ...ofMisfits(misfits.filter(({ path }) => path.length > 1 || path[0] !== 'tools'), '/result'),
      ...(list.repeats === true ? one('/result/nextCursor', 'came before: the list ends here') : nothing),
    ]
    const nulls = ofMisfits(nullsOf(list, meter).faults, '/result')
    if (nulls.length === 0) return own
    return [...own, ...nulls.filter(({ path }) => own.every(other => other.path !== path))]
  },
  onTool: ({ definition, path }, meter) =>
    definition === undefined ? nothing : ofMisfits(tidied(definition, meter, { nulls: true }).faults, path),
}

export const listed: Mend = {
  onList: (list, meter) => nullsOf(list, meter).cleared,
  onTool: ({ definition }, meter) => definition && tidied(definition, meter, { nulls: true }).cleared,
  otherwise: 'log',
  heals: ['tool/definition', 'tool/schema'],
}

/** Tools are judged one by one. */
const nullsOf = ({ method, result }: List, meter: Meter) =>
  listShape(method) === undefined
    ? { faults: [], cleared: result }
    : tidied(result, meter, { nulls: true, except: method === 'tools/list' ? 'tools' : undefined })

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

/** Drift from the definition that the operator has accepted. */
const ofLock: Powers = {
  onDrift: ({ kind, drift: { classes, isMinor, texts }, path, about }) =>
    [{ ...about, path, isMinor, message: `the ${kind} is not what was accepted (${classes})`, ...texts }],
}

/** Drift from the session's first list. It stays the baseline, so that a second poisoned list is found. */
export const drift: Powers = {
  ...ofLock,
  onTool({ sent, path, first, isChanged, settled }, meter) {
    const name = member(sent, 'name')
    if (sent === undefined || !isString(name)) return nothing
    if (isChanged === true && (first === undefined || sent === first)) {
      return one(path, 'the definition differs from what this session listed first, at another replica')
    }
    if (sent === first) return nothing
    if (first === undefined) {
      return settled ? one(path, `the tool ${quote(name)} was not in this session's first list`) : nothing
    }
    const keys = new Set([...each(first, meter), ...each(sent, meter)].map(([key]) => key))
    return [...keys]
      .filter(key => !equal(member(first, key), member(sent, key)))
      .slice(0, maxProblems)
      .map(key => ({
        path, message: `${quote(key)} differs from what this session listed first`,
        ...changedTexts([[pathBelow('', key), member(first, key), member(sent, key)]]),
      }))
  },
}

/** The problems that the inspection of a schema found. Problems of every kind are findings. */
const ofInspection = (isIts: (kind: SchemaProblem['kind']) => boolean): Powers =>
  ({ onTool: ({ schemas }) => ofKind(schemas, isIts) })

export const definitionSchema = ofInspection(kind => kind !== 'external-ref' && kind !== 'cost')

/** Leaves out each keyword with a broken value, for the client and for the check. */
export const repaired: Mend = {
  onTool({ definition = {}, path, revision, schemas }, meter) {
    let made = tidied(definition, meter, { arrays: true }).cleared
    if (made !== definition) return made
    for (const key of keys) {
      const schema = member(definition, key)
      const places = schemas.flatMap(one =>
        (one.kind === 'schema' && `${one.path}/`.startsWith(`${path}/${key}/`)
          ? [one.path.slice(`${path}/${key}`.length)] : []))
      if (places.length === 0 || schema === undefined) continue
      // Nothing would be left of the tool's arguments, which somebody has named.
      if (isObject(schema) && isArray(member(schema, 'properties'))) return undefined
      const isTyped = key === 'inputSchema' || !traitsOf(revision).modern
      made = withMembers(made, { [key]: withoutBroken(schema, places, isTyped, meter) }, meter)
    }
    return made
  },
  rounds: 10,
  heals: ['tool/definition', 'tool/dialect'],
}

export const externalRef = ofInspection(kind => kind === 'external-ref')
export const cost: Powers = {
  ...ofInspection(kind => kind === 'cost'),
  onOverLimit: ({ count, reason }) =>
    one('/result/tools', `${reason}: ${count === 1 ? 'one is' : `${count} are`} not kept`),
}

/** A title makes no claim about the tool. */
export const isAnnotated = (tool: JsonObject | undefined, meter: Meter): boolean => {
  const annotations = member(tool, 'annotations')
  if (!isObject(annotations)) return annotations !== undefined
  return [...each(annotations, meter)].some(([key]) => key !== 'title')
}

/** tool/annotations. Who is trusted: `trusted` in core/tool-judge.ts, from config/trust.ts or the lock. */
export const toolAnnotations: Powers = {
  onTool: ({ definition, path, trusted }, meter) =>
    trusted || !isAnnotated(definition, meter)
      ? nothing
      : one(`${path}/annotations`, 'come from a server that the operator does not trust'),
}

export const withoutAnnotations: Mend = {
  isBlock: true,
  onTool({ definition = {} }, meter) {
    const annotations = member(definition, 'annotations')
    const title = isObject(annotations) ? member(annotations, 'title') : undefined
    return title === undefined
      ? omit(definition, 'annotations')
      : withMembers(definition, { annotations: { title } }, meter)
  },
}

/**
 * Only a true contradiction: many servers write all hints with their defaults, and the specification gives
 * `idempotentHint` and `destructiveHint` no meaning for a read-only tool.
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

/** The dialect that the schema of a tool names; undefined for the default, 2020-12. */
const otherDialect = (tool: JsonObject | undefined, key: string): string | undefined => {
  const schema = member(tool, key)
  const named = isObject(schema) ? member(schema, '$schema') : undefined
  return isString(named) && dialectOf(named) !== defaultDialect ? named : undefined
}

export const dialect: Powers = {
  onTool: ({ definition, path }) =>
    keys.flatMap(key => {
      const named = otherDialect(definition, key)
      if (named === undefined) return []
      const message = `names the dialect ${quote(named)}, where many clients know 2020-12 alone`
      return [{ path: `${path}/${key}/$schema`, message }]
    }),
}

/** Removes a schema that 2020-12 cannot express, for the client. The relay still validates by it. */
export const upgraded: Mend = {
  onTool({ definition = {} }, meter) {
    let made = definition
    for (const key of keys) {
      const schema = member(definition, key)
      const named = otherDialect(definition, key)
      if (named === undefined || !isObject(schema)) continue
      // The meaning of an unknown dialect is unknown.
      if (dialectOf(named) === undefined) return undefined
      const rewritten = upgrade(schema, meter) ?? (key === 'inputSchema' ? { type: 'object' } : undefined)
      made = rewritten === undefined ? omit(made, key) : withMembers(made, { [key]: rewritten }, meter)
    }
    return made
  },
}

/** What the client's profiles refuse, and what the core changes for them. */
export const profile: Powers = {
  onShown: ({ definition, changes, path, shape }, meter) =>
    definition === undefined
      ? changes
      : shape.refusals(definition, meter).map(one => ({ ...one, path: path + one.path })),
}

export const fitted: Mend = {
  isBlock: true,
  onShown: ({ definition, shape }, meter) => definition && shape.adapted(definition, meter),
}

/** Legacy revisions do not define `x-mcp-header`: it is an unknown keyword there. */
export const header: Powers = {
  onTool({ definition, path, revision }, meter) {
    if (!traitsOf(revision).modern) return nothing
    return paramHeaders(member(definition, 'inputSchema'), meter).problems.map(problem => ({
      path: `${path}/inputSchema${problem.path}`,
      message: problem.message,
    }))
  },
}

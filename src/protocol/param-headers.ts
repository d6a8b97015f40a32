import { isArray, isObject, isString, member, pointer, type Json, type JsonObject } from './json.js'
import { schemasIn } from './json-schema.js'
import { each, Meter } from './meter.js'
import { quote, step } from './quote.js'

/** A tool's parameter that clients repeat in a header (2026-07-28, Custom Headers from Tool Parameters). */
export interface ParamHeader {
  /** In lower case, with its prefix: `mcp-param-region`. */
  readonly header: string
  /** The keys that lead from `params.arguments` to the value. */
  readonly path: readonly string[]
  readonly type: 'string' | 'integer' | 'boolean'
}

/** An `x-mcp-header` that breaks the rules; a tool that has one must not be offered over HTTP. */
export interface HeaderProblem {
  /** JSON Pointer into the schema, to the annotation; keys from the wire as `step` shows them. */
  readonly path: string
  readonly message: string
}

const annotation = 'x-mcp-header'

/** A field name (RFC 9110, section 5.1). */
const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/

type Pointer = readonly (string | number)[]

const mostProblems = 20

interface ParamHeaders {
  readonly headers: readonly ParamHeader[]
  readonly problems: readonly HeaderProblem[]
}

/** A schema is looked through once, not at each call. */
const known = new WeakMap<JsonObject, ParamHeaders>()

/** The parameters that have a header of their own, and what is wrong with the annotations of others. */
export const paramHeaders = (inputSchema: Json | undefined, meter = new Meter()): ParamHeaders => {
  if (!isObject(inputSchema)) return { headers: [], problems: [] }
  const found = known.get(inputSchema) ?? search(inputSchema, meter)
  known.set(inputSchema, found)
  return found
}

const search = (inputSchema: JsonObject, meter: Meter): ParamHeaders => {
  const headers: ParamHeader[] = []
  const problems: HeaderProblem[] = []
  const taken = new Set<string>()

  /** `at` is where the schema stands; `path` the properties that lead to it, undefined where other keywords do too. */
  const look = (schema: Json | undefined, at: Pointer, path: readonly string[] | undefined): void => {
    if (!isObject(schema) || problems.length >= mostProblems) return
    for (const [key, value] of each(schema, meter)) {
      if (key === annotation) {
        const found = headerOf(schema, value, path, taken)
        if (isString(found)) problems.push({ path: pointer(...at, key), message: found })
        else headers.push(found)
      } else if (schemasIn(key) === 'members' && isObject(value)) {
        for (const [name, inner] of each(value, meter)) {
          look(inner, [...at, key, step(name)], key === 'properties' && path ? [...path, name] : undefined)
        }
      } else if (schemasIn(key) === 'value') {
        if (isArray(value)) for (const [index, inner] of each(value, meter)) look(inner, [...at, key, index], undefined)
        else look(value, [...at, key], undefined)
      }
    }
  }
  look(inputSchema, [], [])
  return { headers, problems }
}

const headerOf = (
  schema: JsonObject,
  name: Json,
  path: readonly string[] | undefined,
  taken: Set<string>,
): ParamHeader | string => {
  if (path === undefined || path.length === 0) {
    return `${annotation} belongs on a property that "properties" alone lead to`
  }
  if (!isString(name) || !token.test(name)) return `${annotation} must be the name of a header, in its characters`
  const type = typeIn(schema)
  if (type === undefined) {
    return `${annotation} belongs on a property of type string, integer or boolean`
  }
  const header = `mcp-param-${name.toLowerCase()}`
  if (taken.has(header)) return `${annotation} ${quote(name)} is there twice, header names being the same in any case`
  taken.add(header)
  return { header, path, type }
}

const typeIn = (schema: JsonObject): ParamHeader['type'] | undefined =>
  (['string', 'integer', 'boolean'] as const).find(type => type === member(schema, 'type'))

import {
  each, isArray, isObject, isString, lengthOf, member, type Json, type JsonObject, type Meter,
} from '#relay/protocol/json.js'
import { dialectOf, schemasIn } from '#relay/protocol/json-schema.js'
import { quote, wirePath } from '#relay/protocol/quote.js'
import type { ProfileRefusal } from '#relay/profiles/node.js'
import type { NameRules, Profile, SchemaRules } from '#relay/profiles/profile.js'

/** Reasons that are told of one definition. */
const maxRefusals = 20

const headerKeyword = 'x-mcp-header'

/** Why a profile refuses a definition, said a second time, without the code that rewrites it. */
export const accepts = (
  definition: JsonObject, profile: Profile, meter: Meter, server = '',
): readonly ProfileRefusal[] => {
  const name = member(definition, 'name')
  const refused: ProfileRefusal[] = []
  if (isString(name) && profile.toolName !== undefined && !fitsName(name, profile.toolName, server))
    refused.push({ path: '/name', message: nameReason(profile.toolName, server) })
  if (profile.needsWords === true && member(definition, 'description') === '')
    refused.push({ path: '/description', message: 'takes no empty description' })
  for (const [key, rules] of [['inputSchema', profile.input], ['outputSchema', profile.output]] as const) {
    const schema = member(definition, key)
    if (schema !== undefined && rules !== undefined) new Check(rules, meter, refused).root(schema, key)
  }
  return refused.slice(0, maxRefusals)
}

const longestName = ({ longest, isPrefixed }: NameRules, server: string): number =>
  isPrefixed === true ? Math.max(16, longest - server.length - 1) : longest

const fitsName = (name: string, rules: NameRules, server: string): boolean =>
  name.length <= longestName(rules, server)
  && new RegExp(`^[${rules.first ?? rules.characters}][${rules.characters}]*$`).test(name)

const nameReason = (rules: NameRules, server: string): string =>
  `takes names of ${longestName(rules, server)} characters of ${rules.characters} at most` +
  (rules.first === undefined ? '' : `, the first of ${rules.first}`)

class Check {
  readonly #rules: SchemaRules
  readonly #meter: Meter
  readonly #refused: ProfileRefusal[]
  #properties = 0
  #enumValues = 0
  #characters = 0

  constructor(rules: SchemaRules, meter: Meter, refused: ProfileRefusal[]) {
    this.#rules = rules
    this.#meter = meter
    this.#refused = refused
  }

  root(schema: Json, key: string): void {
    const {
      notAtRoot = [], needsType, needsProperties, properties = Infinity, enumValues = Infinity,
      characters = Infinity,
    } = this.#rules
    this.#schema(schema, [key], 0)
    if (!isObject(schema)) return
    for (const keyword of notAtRoot) {
      if (member(schema, keyword) !== undefined) this.#refuse([key, keyword], `refuses ${keyword} at the root`)
    }
    if (needsType === true && member(schema, 'type') !== 'object')
      this.#refuse([key], 'needs "type": "object"')
    if (needsProperties === true && !isObject(member(schema, 'properties')))
      this.#refuse([key], 'needs properties, if only empty ones')
    if (this.#properties > properties) this.#refuse([key], `takes ${properties} properties at most`)
    if (this.#characters > characters) this.#refuse([key], `takes ${characters} characters at most`)
    if (this.#enumValues > enumValues) this.#refuse([key], `takes ${enumValues} values of enum at most`)
  }

  #refuse(path: readonly (string | number)[], message: string): void {
    if (this.#refused.length <= maxRefusals) this.#refused.push({ path: wirePath(...path), message })
  }

  /** @param level how many objects are around it */
  #schema(schema: Json, path: readonly (string | number)[], level: number): void {
    this.#meter.pay(1)
    if (typeof schema === 'boolean' && this.#rules.noBooleans === true)
      this.#refuse(path, 'takes no true or false for a schema')
    if (!isObject(schema)) return
    const inner = level + (isObject(member(schema, 'properties')) ? 1 : 0)
    if (inner > (this.#rules.depth ?? Infinity))
      this.#refuse(path, `takes objects of ${String(this.#rules.depth)} levels at most`)
    for (const [keyword, value] of each(schema, this.#meter)) {
      if (keyword === headerKeyword) continue
      const { keywords } = this.#rules
      if (keywords?.includes(keyword) === false) this.#refuse([...path, keyword], `does not know ${quote(keyword)}`)
      else this.#value(keyword, value, path)
      this.#children(keyword, value, path, inner)
    }
    this.#whole(schema, path)
  }

  #children(keyword: string, value: Json, path: readonly (string | number)[], level: number): void {
    if (keyword === 'additionalProperties' && typeof value === 'boolean') return
    const form = schemasIn(keyword)
    if (form === 'value' && !isArray(value)) this.#schema(value, [...path, keyword], level)
    else if (form !== undefined && (isArray(value) || isObject(value))) {
      for (const [step, child] of each(value, this.#meter)) {
        // A member of `dependencies` may be a list of names.
        if (!isArray(child)) this.#schema(child, [...path, keyword, step], level)
      }
    }
  }

  /** The value of one keyword. */
  #value(keyword: string, value: Json, path: readonly (string | number)[]): void {
    const { dialects, formats, oneType, stringEnums, propertyName } = this.#rules
    const refuse = (message: string) => this.#refuse([...path, keyword], message)
    if (keyword === '$schema' && isString(value) && dialects !== undefined) {
      const dialect = dialectOf(value)
      if (dialect === undefined || !dialects.includes(dialect)) refuse(`takes JSON Schema ${dialects.join(', ')} only`)
    } else if (keyword === 'format' && isString(value) && formats?.includes(value) === false)
      refuse(`does not know the format ${quote(value)}`)
    else if (keyword === 'type' && isArray(value) && oneType === true) refuse('takes one type')
    else if (keyword === 'enum' && isArray(value)) {
      this.#enumValues += lengthOf(value)
      const texts = [...each(value, this.#meter)].flatMap(([, one]) => (isString(one) ? [one] : []))
      this.#characters += texts.join('').length
      const { longEnum = Infinity } = this.#rules
      if (texts.length > 250 && texts.join('').length > longEnum) refuse('takes shorter lists')
      if (stringEnums === true && [...each(value, this.#meter)].some(([, one]) => !isString(one)))
        refuse('takes strings only in enum')
    } else if (keyword === 'properties' && isObject(value)) {
      for (const [name] of each(value, this.#meter)) {
        this.#properties++
        this.#characters += name.length
        if (path.length === 1 && propertyName?.test(name) === false)
          this.#refuse([...path, keyword, name], `takes names such as ${propertyName.source}`)
      }
    }
  }

  /** Keywords that depend on each other. */
  #whole(schema: JsonObject, path: readonly (string | number)[]): void {
    const { untypedUnions, requiredIsDeclared, needsItems, isStrict } = this.#rules
    const type = member(schema, 'type')
    const properties = member(schema, 'properties')
    const declared = isObject(properties) ? properties : {}
    const required = member(schema, 'required')
    const names = new Set(isArray(required) ? [...each(required, this.#meter)].map(([, name]) => name) : [])
    if (untypedUnions === true && type !== undefined && member(schema, 'anyOf') !== undefined)
      this.#refuse([...path, 'type'], 'takes no type beside anyOf')
    if (
      requiredIsDeclared === true
      && [...names].some(name => isString(name) && member(declared, name) === undefined)
    )
      this.#refuse([...path, 'required'], 'takes only names that are in properties')
    if (needsItems === true && isTyped(type, 'array') && member(schema, 'items') === undefined)
      this.#refuse(path, 'needs items for an array')
    if (isStrict !== true) return
    if (sayings.every(keyword => member(schema, keyword) === undefined)) this.#refuse(path, 'needs a type')
    if (!isTyped(type, 'object') && properties === undefined) return
    if (this.#rules.keywords?.includes('additionalProperties') !== false && member(schema, 'additionalProperties') !== false)
      this.#refuse(path, 'needs "additionalProperties": false: only members that are named can be given')
    const optional = [...each(declared, this.#meter)].filter(([name]) => !names.has(name))
    if (optional.length > 0) this.#refuse(path, 'needs all properties in required')
  }
}

/** The keywords that tell of what kind a value is. */
const sayings = ['type', 'anyOf', '$ref'] as const

const isTyped = (type: Json | undefined, wanted: string): boolean =>
  type === wanted || (isArray(type) && Array.prototype.includes.call(type, wanted))

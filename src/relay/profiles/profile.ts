import type { Dialect } from '#relay/protocol/json-schema.js'

/** What one client or model API accepts of a tool's definition. A profile is data; `fit.ts` applies it. */
export interface Profile {
  readonly name: string
  readonly title: string
  /** The version of the program or API that the sources are about. */
  readonly version: string
  /** The day on which the sources were read. */
  readonly date: string
  readonly sources: readonly string[]
  /** How `clientInfo.name` of its clients begins, in lower case (`--profile auto`). */
  readonly clients: readonly string[]
  /** One tool that it refuses costs the client the whole list: such a tool is withheld. */
  readonly losesList: boolean
  /** Most tools. */
  readonly tools?: number
  readonly toolName?: NameRules | undefined
  /** A description may not be empty. */
  readonly needsWords?: true
  readonly input: SchemaRules
  /** Undefined: it takes any output schema, or does not read it. */
  readonly output?: SchemaRules | undefined
}

export interface NameRules {
  /** The characters that it accepts, as a class of a regular expression. */
  readonly characters: string
  /** The characters that a name may begin with, where these are fewer. */
  readonly first?: string | undefined
  readonly longest: number
  /** The client puts the server's name and a separator before the name; both count. */
  readonly isPrefixed?: true
}

/** @param server the name that clients know, which some put before the names of tools */
export const longestName = ({ longest, isPrefixed }: NameRules, server: string): number =>
  isPrefixed === true ? Math.max(16, longest - server.length - 1) : longest

/** What it accepts of a schema; anything where a member is missing. */
export interface SchemaRules {
  /** The dialects that `$schema` may name. */
  readonly dialects?: readonly Dialect[] | undefined
  /** The keywords that it knows. */
  readonly keywords?: readonly string[] | undefined
  /** Keywords that it refuses at the root. */
  readonly notAtRoot?: readonly string[]
  readonly formats?: readonly string[] | undefined
  /** `type` is one type, and no list. */
  readonly oneType?: true
  /** The values of `enum` are strings. */
  readonly stringEnums?: true
  /** Schemas are objects, not true or false; `additionalProperties` is not meant. */
  readonly noBooleans?: true
  /** `type` may not stand beside `anyOf`. */
  readonly untypedUnions?: true
  /** The names in `required` must be in `properties`. */
  readonly requiredIsDeclared?: true
  /** A schema of type array needs `items`. */
  readonly needsItems?: true
  /** The root needs `type: "object"`. */
  readonly needsType?: true
  /** The root needs `properties`. */
  readonly needsProperties?: true
  /**
   * Every object lists all its members: `additionalProperties` is false, all properties are required, and
   * every schema says its type.
   */
  readonly isStrict?: true
  /** Names of the arguments: the properties of the root. */
  readonly propertyName?: RegExp
  /** Deepest nesting of objects. */
  readonly depth?: number
  /** Most properties, in all objects together. */
  readonly properties?: number
  /** Most values of `enum`, in all schemas together. */
  readonly enumValues?: number
  /** Most characters in names of properties and values of `enum`, in all schemas together. */
  readonly characters?: number
  /** Most characters in one `enum` of more than 250 values. */
  readonly longEnum?: number
}

/** A profile whose tools suit both. */
export const combined = (one: Profile, other: Profile): Profile => ({
  ...one, title: `${one.title} and ${other.title}`, losesList: one.losesList || other.losesList,
  tools: least(one.tools, other.tools),
  ...((one.needsWords ?? other.needsWords) === true && { needsWords: true }),
  toolName: either(one.toolName, other.toolName, bothNames),
  input: both(one.input, other.input), output: either(one.output, other.output, both),
})

const either = <Value>(
  one: Value | undefined, other: Value | undefined, combine: (one: Value, other: Value) => Value,
): Value | undefined =>
  (one !== undefined && other !== undefined ? combine(one, other) : one ?? other)

const least = (one = Infinity, other = Infinity): number => Math.min(one, other)

const shared = <Value>(one: readonly Value[], other: readonly Value[]): readonly Value[] =>
  one.filter(value => other.includes(value))

/** The flags are those of both; of sets the common part counts, of numbers the smaller one. */
const both = (one: SchemaRules, other: SchemaRules): SchemaRules => ({
  ...one, ...other,
  dialects: either(one.dialects, other.dialects, shared),
  keywords: either(one.keywords, other.keywords, shared),
  formats: either(one.formats, other.formats, shared),
  notAtRoot: [...new Set([...one.notAtRoot ?? [], ...other.notAtRoot ?? []])],
  depth: least(one.depth, other.depth), properties: least(one.properties, other.properties),
  enumValues: least(one.enumValues, other.enumValues),
  characters: least(one.characters, other.characters), longEnum: least(one.longEnum, other.longEnum),
})

/** The shorter of two classes of characters is a part of the other one. */
const bothNames = (one: NameRules, other: NameRules): NameRules => ({
  ...one, ...other, first: one.first ?? other.first, longest: least(one.longest, other.longest),
  characters: one.characters.length < other.characters.length ? one.characters : other.characters,
})

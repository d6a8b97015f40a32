import type { Dialect } from '#protocol/json-schema.js'

/**
 * What one client or model API accepts of a tool's definition. A profile is data: `accepts.ts` checks a
 * definition by it, `adapt.ts` makes one that it accepts.
 */
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
  /** Most tools. */
  readonly tools?: number
  readonly toolName?: NameRules
  readonly input: SchemaRules
  /** Undefined: it takes any output schema, or does not read it. */
  readonly output?: SchemaRules
}

export interface NameRules {
  /** The characters that it accepts, as a class of a regular expression. */
  readonly characters: string
  /** The characters that a name may begin with, where these are fewer. */
  readonly first?: string
  readonly longest: number
  /** The client puts the server's name and a separator before the name; both count. */
  readonly isPrefixed?: true
}

/** What it accepts of a schema; anything where a member is missing. */
export interface SchemaRules {
  /** The dialects that `$schema` may name. */
  readonly dialects?: readonly Dialect[]
  /** The keywords that it knows. */
  readonly keywords?: ReadonlySet<string>
  /** Keywords that it refuses at the root. */
  readonly notAtRoot?: readonly string[]
  readonly formats?: readonly string[]
  /** Lists of types: `null`: one type and null. */
  readonly typeLists?: 'null'
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
}

/** The keywords that combine schemas, which many clients refuse at the root. */
export const combinators = ['anyOf', 'oneOf', 'allOf'] as const

/** Names as most model APIs have them. */
export const usualNames: NameRules = { characters: 'A-Za-z0-9_-', longest: 64 }

/** Names of arguments as most model APIs have them. */
export const usualArguments = /^[a-zA-Z0-9_.-]{1,64}$/
